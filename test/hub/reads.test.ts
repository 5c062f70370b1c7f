/**
 * Lists and watches as informers use them: pages, selectors, versions, bookmarks, timeouts; online and
 * offline.
 */

import {
  CONFIG_MAPS,
  Informers,
  type KubeClient,
  type KubeList,
  type KubeObject,
  NODES,
  PODS,
  SERVICES,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Edge, NODE } from '../support/edge.ts';
import {
  configMap,
  goOffline,
  goOnline,
  pod,
  service,
  soon,
  touch,
  viewsOf,
} from '../support/edge-objects.ts';
import { say, Watching, type Way } from '../support/wire.ts';

let edge: Edge;
let app: KubeClient;
let way: Way;
const MAPS = '/api/v1/namespaces/default/configmaps';
const INITIAL = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

beforeAll(async () => {
  edge = await Edge.start();
  await edge.node().create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  for (let i = 0; i < 7; i++)
    await edge.admin.create(
      CONFIG_MAPS,
      configMap(`c${i}`, { value: '0' }, { odd: `${i % 2 === 1}`, kind: 'test' }),
    );
  await edge.admin.create(SERVICES, service('web'));
  await edge.allowReading('app', [
    { group: '', resource: 'configmaps' },
    { group: '', resource: 'pods' },
    { group: '', resource: 'services' },
  ]);
  const token = await edge.token('app');
  app = edge.bearer(token);
  way = edge.asBearer(token);
});
afterAll(() => edge.stop());

const listed = async (query: string, from = way, path = MAPS): Promise<KubeList<KubeObject>> =>
  (await say(from, `${path}?${query}`)).json();
const names = ({ items }: KubeList<KubeObject>): string[] => items.map(({ metadata }) => metadata.name ?? '');
const test = (n: number): string => `c${n}`;

describe('offline', () => {
  let continueToken: string;
  let reader: Way;

  beforeAll(async () => {
    const read: string[] = [];
    let token = '';
    do {
      const page = await listed(`labelSelector=kind%3Dtest&limit=3&continue=${encodeURIComponent(token)}`);
      read.push(...names(page));
      token = page.metadata.continue ?? '';
    } while (token !== '');
    expect(read).toEqual([0, 1, 2, 3, 4, 5, 6].map(test));
    await listed('labelSelector=odd%3Dtrue');
    await listed('labelSelector=odd%3Dfalse');
    await listed('fieldSelector=metadata.name%3Dc3');
    await listed('', way, '/api/v1/services');
    await edge.allowReading('reader', [{ group: '', resource: 'configmaps' }]);
    reader = edge.asBearer(await edge.token('reader'));
    await listed('', reader);
    continueToken = encodeURIComponent((await listed('limit=2', reader)).metadata.continue ?? '');
    await goOffline(edge);
  });
  afterAll(() => goOnline(edge));

  it('pages that were read separately are one list', async () => {
    const all = [0, 1, 2, 3, 4, 5, 6].map(test);
    expect(names(await listed('labelSelector=kind%3Dtest'))).toEqual(all);
    expect(names(await listed('labelSelector=kind%3Dtest&limit=2'))).toEqual(all);
  });

  it('a paged list that was started online has to start again', async () => {
    const said = await say(reader, `${MAPS}?limit=2&continue=${continueToken}`);
    expect(said.json()).toMatchObject({ code: 410, reason: 'Expired' });
  });

  it('each selection that an account has read is available, and no other', async () => {
    expect(names(await listed('labelSelector=odd%3Dtrue'))).toEqual([1, 3, 5].map(test));
    expect(names(await listed('labelSelector=odd%3Dfalse'))).toEqual([0, 2, 4, 6].map(test));
    expect(names(await listed('fieldSelector=metadata.name%3Dc3'))).toEqual(['c3']);
    const said = await say(way, `${MAPS}?labelSelector=odd`);
    expect(said.status).toBe(503);
    expect(said.headers['retry-after']).toBe('1');
    expect(said.json()).toMatchObject({
      kind: 'Status',
      reason: 'ServiceUnavailable',
      message: expect.stringContaining('has not stored this list'),
    });
    // A single object comes from any list that contains it.
    expect((await say(way, `${MAPS}/c5`)).json()).toMatchObject({ metadata: { name: 'c5' } });
    expect((await say(way, `${MAPS}/none`)).status).toBe(503);
  });

  it('a client that has read a whole list can select from it, and gets 404 for missing objects', async () => {
    expect(names(await listed('labelSelector=odd', reader))).toHaveLength(7);
    expect((await say(reader, `${MAPS}/none`)).json()).toMatchObject({
      code: 404,
      message: 'configmaps "none" not found',
    });
  });

  it('new informers can sync, with a list or with a watch only', async () => {
    for (const [path, query] of [
      [MAPS, 'labelSelector=kind%3Dtest'],
      ['/api/v1/services', ''],
    ] as const) {
      const watch = await Watching.open(way, `${path}?${query}&${INITIAL}`);
      const end = await soon(() => {
        const last = watch.frames.at(-1);
        expect(last?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
        return last!;
      });
      const list = await listed(query, way, path);
      expect(watch.frames.slice(0, -1).map(({ object }) => object.metadata.name)).toEqual(names(list));
      expect(end).toMatchObject({
        type: 'BOOKMARK',
        object: { metadata: { resourceVersion: list.metadata.resourceVersion } },
      });
      watch.close();
    }
    const stop = new AbortController();
    const informers = new Informers(app, { clock: systemClock, log: silentLogger });
    const services = informers.for(SERVICES);
    const running = informers.run(stop.signal);
    await informers.synced();
    expect(services.cache.get('default/web')).toBeDefined();
    stop.abort();
    await running;
  });

  it('a watch starts with what is stored, and continues when the link is restored', async () => {
    const { metadata } = await listed('labelSelector=odd%3Dtrue');
    const query = `labelSelector=odd%3Dtrue&watch=1&resourceVersion=${metadata.resourceVersion}`;
    const watch = await Watching.open(way, `${MAPS}?${query}`);
    expect(watch.status).toBe(200);
    await touch(edge.admin, 'c1', 'changed offline');
    await goOnline(edge);
    await soon(() => expect(watch.story).toEqual(['MODIFIED c1']));
    watch.close();
  });
});

describe('versions', () => {
  it.each([
    ['a private list', MAPS],
    ['a shared list', '/api/v1/services'],
  ])('%s handles each as a real server does', async (_, path) => {
    const now = await listed('', way, path);
    const version = Number(now.metadata.resourceVersion);
    expect(version).toBeGreaterThan(0);
    expect(names(await listed('resourceVersion=0', way, path))).toEqual(names(now));
    expect(names(await listed(`resourceVersion=${version}`, way, path))).toEqual(names(now));
    const exact = await listed(`resourceVersion=${version}&resourceVersionMatch=Exact`, way, path);
    expect([exact.metadata.resourceVersion, names(exact)]).toEqual([String(version), names(now)]);

    const future = await say(way, `${path}?resourceVersion=${version + 1_000_000}`);
    expect(future.json()).toMatchObject({
      code: 504,
      reason: 'Timeout',
      message: expect.stringMatching(/^Timeout: Too large resource version: \d+, current: \d+$/),
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
    });
    for (const [query, code] of [
      ['resourceVersion=x', 400],
      ['limit=x', 400],
      ['resourceVersionMatch=Exact', 422],
      ['labelSelector=%3D%3D', 400],
    ] as const)
      expect([query, (await say(way, `${path}?${query}`)).status]).toEqual([query, code]);
  });

  it.each([
    ['a private watch', `${MAPS}?labelSelector=kind%3Dtest&`],
    ['a shared watch', '/api/v1/services?'],
  ])('%s from an old version gets 410', async (_, path) => {
    const watch = await Watching.open(way, `${path}watch=1&resourceVersion=1`);
    expect(await watch.over).toBe('ended');
    expect(watch.frames).toMatchObject([
      {
        type: 'ERROR',
        object: {
          code: 410,
          reason: 'Expired',
          message: expect.stringMatching(/^too old resource version: 1 \(\d+\)$/),
        },
      },
    ]);
  });

  it('a client can read its own write', async () => {
    const node = edge.node('writer');
    for (let i = 0; i < 5; i++) {
      const written = await edge.admin.create(SERVICES, service(`w${i}`));
      const said = await listed(
        `resourceVersion=${written.metadata.resourceVersion}`,
        way,
        '/api/v1/services',
      );
      expect(names(said)).toContain(`w${i}`);
    }
    expect((await node.list(SERVICES)).items.length).toBeGreaterThan(5);
  });
});

describe('a watch', () => {
  it('ends at its timeout, with a bookmark if requested', async () => {
    for (const [path, bookmarks] of [
      [MAPS, true],
      [MAPS, false],
      ['/api/v1/services', true],
    ] as const) {
      const { metadata } = await listed('', way, path);
      const query = `watch=1&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}&allowWatchBookmarks=${bookmarks}`;
      const watch = await Watching.open(way, `${path}?${query}`);
      expect(await watch.over).toBe('ended');
      const types = watch.frames.map(({ type }) => type);
      expect(types).not.toContain('ERROR');
      if (bookmarks) expect(types.at(-1)).toBe('BOOKMARK');
      else expect(types).not.toContain('BOOKMARK');
    }
  });

  it('without a version shows the current state, then changes', async () => {
    const watch = await Watching.open(way, `${MAPS}?labelSelector=odd%3Dfalse&watch=1`);
    await soon(() => expect(watch.story.sort()).toEqual([0, 2, 4, 6].map((n) => `ADDED c${n}`)));
    await touch(edge.admin, 'c2', 'x');
    await edge.admin.patch(CONFIG_MAPS, { namespace: 'default', name: 'c4' }, 'merge', {
      metadata: { labels: { odd: 'neither' } },
    });
    await soon(() => expect(watch.story.slice(4)).toEqual(['MODIFIED c2', 'DELETED c4']));
    watch.close();
  });

  it('can select one object by name, as kubelets do for Secrets and ConfigMaps', async () => {
    const path = `${MAPS}?fieldSelector=metadata.name%3Dc6`;
    const { metadata } = await listed('fieldSelector=metadata.name%3Dc6');
    const watch = await Watching.open(way, `${path}&watch=1&resourceVersion=${metadata.resourceVersion}`);
    await touch(edge.admin, 'c5', 'y');
    await touch(edge.admin, 'c6', 'y');
    await soon(() => expect(watch.story).toEqual(['MODIFIED c6']));
    watch.close();
  });
});

it('one watch upstream serves all clients of a shared resource', async () => {
  const watches = await Promise.all(
    Array.from({ length: 5 }, () => Watching.open(way, '/api/v1/services?watch=1&resourceVersion=0')),
  );
  await edge.admin.create(SERVICES, service('shared'));
  await soon(() => {
    for (const watch of watches) expect(watch.story).toContain('ADDED shared');
  });
  const views = (await viewsOf(edge)).filter(({ resource }) => resource === 'services/v1');
  expect(views.map(({ identity, state }) => [identity, state])).toEqual([['shared', 'following']]);
  for (const watch of watches) watch.close();
});

it('a deleted pod is reported to the kubelet, also after the link was cut', async () => {
  const node = edge.asNode;
  await edge.admin.create(PODS, pod('short'));
  const path = `/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE}`;
  const list = await soon(async () => {
    const said = await listed(`fieldSelector=spec.nodeName%3D${NODE}`, node, '/api/v1/pods');
    expect(names(said)).toEqual(['short']);
    return said;
  });
  const watch = await Watching.open(node, `${path}&watch=1&resourceVersion=${list.metadata.resourceVersion}`);
  await goOffline(edge);
  await edge.admin.delete(PODS, { namespace: 'default', name: 'short' }, { gracePeriodSeconds: 0 });
  await edge.admin.create(PODS, pod('next'));
  expect(watch.frames).toEqual([]);
  await goOnline(edge);
  await soon(() =>
    expect(watch.story.filter((line) => !line.startsWith('MODIFIED'))).toEqual([
      'DELETED short',
      'ADDED next',
    ]),
  );
  watch.close();
});
