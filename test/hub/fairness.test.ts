/**
 * Clients that ask for more than they need. What other clients need while the link is cut must stay, and what the hub keeps
 * must stay bounded.
 */
import { CONFIG_MAPS, NAMESPACES } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Edge } from '../support/edge.ts';
import { configMap, goOffline, goOnline, soon, unlessThere, viewsOf } from '../support/edge-objects.ts';
import { say, Watching } from '../support/wire.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
let edge: Edge;

beforeAll(async () => {
  edge = await Edge.start();
  for (const name of ['victim', 'greedy'])
    await edge.admin
      .create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      .catch(unlessThere);
  await edge.admin.create(CONFIG_MAPS, configMap('shown', { a: 'b' }));
});
afterEach(() => goOnline(edge));
afterAll(() => edge.stop());

/** A token of an account that may read ConfigMaps. */
async function reader(account: string, namespace: string): Promise<string> {
  await edge.allowReading(account, [{ group: '', resource: 'configmaps' }], namespace);
  return edge.token(account, namespace);
}
const statusOf = async (token: string, path: string): Promise<number> =>
  (await say(edge.asBearer(token), path)).status;
/** Runs the task for each number, ten at a time. */
async function inTens(count: number, task: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await task(next++);
  };
  await Promise.all(Array.from({ length: 10 }, work));
}

describe('a tenant that lists with many selectors', () => {
  it('does not push out what other tenants, and other accounts of its own, have listed', async () => {
    const victim = await reader('app', 'victim');
    const sibling = await reader('quiet', 'greedy');
    const greedy = await reader('greedy', 'greedy');
    for (const token of [victim, sibling]) {
      expect(await statusOf(token, MAPS)).toBe(200);
      expect(await statusOf(token, `${MAPS}/shown`)).toBe(200);
    }
    await inTens(520, (i) => statusOf(greedy, `${MAPS}?labelSelector=x!%3D${i}`));
    await goOffline(edge);
    await edge.restartHub();
    for (const token of [victim, sibling]) {
      expect(await statusOf(token, MAPS)).toBe(200);
      expect(await statusOf(token, `${MAPS}/shown`)).toBe(200);
    }
    expect(await statusOf(greedy, `${MAPS}?labelSelector=x!%3D519`)).toBe(200);
    await goOnline(edge);
    const kept = (await viewsOf(edge)).filter(({ identity }) => identity.startsWith('sa:greedy:greedy:'));
    expect(kept.length).toBeLessThanOrEqual(100);
  });
});

describe('a tenant that opens many watches', () => {
  it('gets them from the API server when the hub follows enough for it', async () => {
    const greedy = await reader('watcher', 'greedy');
    const victim = await reader('another', 'victim');
    const watches: Watching[] = [];
    await inTens(120, async (i) => {
      watches.push(await Watching.open(edge.asBearer(greedy), `${MAPS}?watch=1&labelSelector=x!%3D${i}`));
    });
    expect(watches.map(({ status }) => status)).toEqual(watches.map(() => 200));
    const followed = (await viewsOf(edge)).filter(
      ({ identity, clients }) => identity.startsWith('sa:greedy:watcher:') && clients > 0,
    );
    expect(followed.length).toBeLessThanOrEqual(100);
    await soon(() => {
      for (const { story } of watches) expect(story).toContain('ADDED shown');
    });
    const watch = await Watching.open(edge.asBearer(victim), `${MAPS}?watch=1`);
    await soon(() => expect(watch.story).toContain('ADDED shown'));
    for (const each of [...watches, watch]) each.close();
  });
});

describe('a client of shared resources', () => {
  it('gets 429 for filtered watches above its share, and disturbs no other client', async () => {
    const services = [{ group: '', resource: 'services' }];
    await edge.allowReading('selective', services, 'greedy');
    const greedy = edge.asBearer(await edge.token('selective', 'greedy'), 'kube-proxy');
    const path = '/api/v1/services?watch=1';
    const watches: Watching[] = [];
    await inTens(230, async (i) => {
      watches.push(await Watching.open(greedy, `${path}&labelSelector=x!%3D${i}`));
    });
    const statuses = watches.map(({ status }) => status).sort();
    expect(statuses.indexOf(429)).toBe(200);
    await edge.allowReading('modest', services, 'victim');
    const modest = edge.asBearer(await edge.token('modest', 'victim'), 'kube-proxy');
    const watch = await Watching.open(modest, path);
    expect(watch.status).toBe(200);
    for (const each of [...watches, watch]) each.close();
    await soon(async () => {
      const again = await Watching.open(greedy, path);
      again.close();
      expect(again.status).toBe(200);
    });
  });
});

it('a client that invents resources does not fill the metrics', async () => {
  const token = await edge.token('inventive', 'greedy');
  await inTens(50, (i) => statusOf(token, `/api/v1/invented${i}`));
  await inTens(50, (i) => say(edge.http, `/apis/invented/v1/anonymous${i}`));
  const { text } = await say(edge.administration, '/metrics');
  expect(text).not.toMatch(/resource="(invented|anonymous)/);
  expect(text).toMatch(/tidegate_hub_requests_total\{verb="list",resource="configmaps",code="200"\}/);
});
