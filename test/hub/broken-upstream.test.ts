/**
 * API servers that lose data, go back in time, or return invalid or no responses. What runs on the node must
 * not be affected.
 */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  type KubeClient,
  type KubeObject,
  NODES,
  PODS,
  SECRETS,
  SERVICES,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Edge, hastyClock, NODE } from '../support/edge.ts';
import {
  configMap,
  goOffline,
  goOnline,
  pod,
  podNames,
  proxyToken,
  service,
  slice,
  soon,
} from '../support/edge-objects.ts';
import type { Lie } from '../support/front.ts';
import { say, Watching } from '../support/wire.ts';

let edge: Edge;
let node: KubeClient;
let token: string;

const MINE = { fieldSelector: `spec.nodeName=${NODE}` };
const PODS_OF_NODE = `/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE}`;

beforeAll(async () => {
  edge = await Edge.start({ front: true });
  node = edge.node();
  await node.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  await edge.admin.create(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'default' },
    stringData: { k: 'v' },
  } as never);
  await edge.admin.create(PODS, pod('p', { volumes: [{ name: 'v', secret: { secretName: 's' } }] } as never));
  await edge.admin.create(CONFIG_MAPS, configMap('kept', { k: 'v' }));
  await soon(async () => expect(await podNames(node)).toEqual(['p']));
  await node.get(NODES, { name: NODE });
  token = await proxyToken(edge);
});
afterAll(() => edge.stop());

const watchFrom = async (path: string, as = edge.asNode): Promise<Watching> => {
  const { metadata } = (await say(as, path)).json();
  const version = metadata.resourceVersion;
  return Watching.open(as, `${path}${path.includes('?') ? '&' : '?'}watch=1&resourceVersion=${version}`);
};

const answering =
  (pattern: RegExp, code: number, body: unknown, type = 'application/json'): Lie =>
  ({ method, url = '', headers }, response) => {
    if (method !== 'GET' || !pattern.test(url) || /[?&]watch=/.test(url)) return false;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    // The test client of the administrator gets the real responses.
    if (headers['user-agent']?.startsWith('node/')) return false;
    response.writeHead(code, { 'content-type': type }).end(text);
    return true;
  };

const emptyPods = { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '999999' }, items: [] };

describe('a false empty list', () => {
  afterAll(() => {
    edge.front.lie = () => false;
  });

  it('does not remove the pods of the node from lists, watches, or a kubelet that restarts', async () => {
    const watch = await watchFrom(PODS_OF_NODE);
    edge.front.lie = answering(/^\/api\/v1\/(pods|nodes)/, 200, emptyPods);
    expect(await podNames(node)).toEqual(['p']);
    // The watch upstream fails, its history is lost, and the new list is empty.
    await goOffline(edge);
    await goOnline(edge);
    expect(await podNames(node)).toEqual(['p']);
    const again = await watchFrom(PODS_OF_NODE);
    await edge.restartHub();
    expect(await podNames(node)).toEqual(['p']);
    expect([...watch.frames, ...again.frames].filter(({ type }) => type === 'DELETED')).toEqual([]);
    expect((await say(edge.administration, '/metrics')).text).toMatch(
      /rejected_empty_lists_total\{resource="pods"\} [1-9]/,
    );
    watch.close();
    again.close();
  });

  it('is accepted if it is true', async () => {
    edge.front.lie = () => false;
    const watch = await watchFrom(PODS_OF_NODE);
    await goOffline(edge);
    await edge.admin.delete(PODS, { namespace: 'default', name: 'p' }, { gracePeriodSeconds: 0 });
    await goOnline(edge);
    await soon(() => expect(watch.story.at(-1)).toBe('DELETED p'));
    await soon(async () => expect(await podNames(node)).toEqual([]));
    await edge.admin.create(PODS, pod('p'));
    await soon(async () => expect(await podNames(node)).toEqual(['p']));
    watch.close();
  });
});

describe('an invalid response', () => {
  afterAll(() => {
    edge.front.lie = () => false;
  });

  it('is withheld where it must be filtered, and is not stored', async () => {
    const mine = { ...edge.asNode, headers: { 'user-agent': 'kubelet/v1.36.4' } };
    for (const [body, type] of [
      ['<html>welcome to the hotel</html>', 'text/html'],
      ['{"kind":"PodList","items":[{', 'application/json'],
      ['"fine"', 'application/json'],
      ['{}', 'application/json'],
    ] as const) {
      edge.front.lie = answering(/^\/api\/v1\/(namespaces\/default\/)?pods/, 200, body, type);
      const list = await say(mine, PODS_OF_NODE);
      expect([body, list.status]).toEqual([body, 502]);
      expect(list.json()).toMatchObject({ kind: 'Status', reason: 'BadGateway' });
      expect(list.text).not.toContain('hotel');
      expect([body, (await say(mine, '/api/v1/namespaces/default/pods/p')).status]).toEqual([body, 502]);
    }
    edge.front.lie = () => false;
    await goOffline(edge);
    expect(await podNames(node)).toEqual(['p']);
    expect((await node.get(PODS, { namespace: 'default', name: 'p' })).metadata.name).toBe('p');
    await goOnline(edge);
  });

  it('with an error is forwarded unchanged, and deletes nothing', async () => {
    const failure = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code: 500,
      message: 'etcd is on fire',
    };
    edge.front.lie = answering(/^\/api\/v1\/(namespaces\/default\/)?pods/, 500, failure);
    const said = await say(edge.asNode, PODS_OF_NODE);
    expect([said.status, said.json()]).toMatchObject([500, { message: 'etcd is on fire' }]);
    edge.front.lie = () => false;
    await goOffline(edge);
    expect(await podNames(node)).toEqual(['p']);
    await goOnline(edge);
  });

  it('to a list of EndpointSlices is retried, and never shown unfiltered', async () => {
    await edge.admin.create(SERVICES, service('web'));
    await edge.admin.create(ENDPOINT_SLICES, slice('web', [NODE]));
    edge.front.lie = answering(/endpointslices/, 200, '<html></html>', 'text/html');
    const asked = say(edge.asBearer(token, 'kube-proxy'), '/apis/discovery.k8s.io/v1/endpointslices');
    await soon(() => expect(edge.front.requests.join()).toContain('/endpointslices'));
    edge.front.lie = () => false;
    const answer = (await asked).json<{ items: KubeObject[] }>();
    expect(answer.items.map(({ metadata }) => metadata.name)).toEqual(['kubernetes', 'web-1']);
  });
});

describe('an API server with a short watch history', () => {
  it('changes that are no longer in the history arrive as events', async () => {
    await edge.admin.create(CONFIG_MAPS, configMap('goes', {}));
    await edge.admin.create(SERVICES, service('goes'));
    const tokenOfApp = await edge.token('app');
    await edge.allowReading('app', [
      { group: '', resource: 'configmaps' },
      { group: '', resource: 'services' },
    ]);
    const app = edge.asBearer(tokenOfApp);
    await soon(async () => expect((await say(app, '/api/v1/services')).text).toContain('"goes"'));
    const maps = await watchFrom(
      '/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%21%3Dbusy',
      app,
    );
    const services = await watchFrom('/api/v1/services', app);
    await goOffline(edge);
    await edge.admin.delete(CONFIG_MAPS, { namespace: 'default', name: 'goes' });
    await edge.admin.delete(SERVICES, { namespace: 'default', name: 'goes' });
    await edge.admin.create(CONFIG_MAPS, configMap('comes', {}));
    await edge.server.forget();
    await goOnline(edge);
    await soon(() => {
      expect(maps.story.sort()).toEqual(['ADDED comes', 'DELETED goes']);
      expect(services.story).toEqual(['DELETED goes']);
    });
    maps.close();
    services.close();
  });
});

describe('an API server that was restored from a backup', () => {
  it('watches end with 410, and new watches show the restored state', async () => {
    const other = await Edge.start({ clock: hastyClock });
    try {
      const reader = other.asBearer(await proxyToken(other), 'reader');
      const backup = join(other.directory, 'backup');
      await other.server.restart((directory) => cp(directory, backup, { recursive: true }));
      await goOnline(other);
      await other.admin.create(SERVICES, service('after-the-backup'));
      await soon(async () =>
        expect((await say(reader, '/api/v1/services')).text).toContain('after-the-backup'),
      );
      const watch = await watchFrom('/api/v1/services', reader);
      await other.cut();
      await other.server.restart(async (directory) => {
        await rm(directory, { recursive: true });
        await cp(backup, directory, { recursive: true });
      });
      await goOnline(other);
      expect(await watch.over).toBe('ended');
      expect(watch.frames.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
      const { items } = (await say(reader, '/api/v1/services?resourceVersion=0')).json<{
        items: KubeObject[];
      }>();
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['kubernetes']);
      const fresh = await watchFrom('/api/v1/services', reader);
      await other.admin.create(SERVICES, service('after-the-restore'));
      await soon(() => expect(fresh.story).toEqual(['ADDED after-the-restore']));
      fresh.close();
    } finally {
      await other.stop();
    }
  });
});

it('a kubelet and its hub that start offline have everything that they need', async () => {
  await node.get(SECRETS, { namespace: 'default', name: 's' }).catch(() => {});
  await edge.admin.create(
    PODS,
    pod('q', {
      volumes: [
        { name: 'v', secret: { secretName: 's' } },
        { name: 'c', configMap: { name: 'kept' } },
      ],
    } as never),
  );
  await soon(async () => {
    await node.get(SECRETS, { namespace: 'default', name: 's' });
    await node.get(CONFIG_MAPS, { namespace: 'default', name: 'kept' });
  });
  await node.get(NODES, { name: NODE });
  const before = await podNames(node);
  expect(before).toContain('q');
  await goOffline(edge);
  await edge.restartHub();
  expect(await podNames(node)).toEqual(before);
  expect(await node.get(SECRETS, { namespace: 'default', name: 's' })).toMatchObject({ data: { k: 'dg==' } });
  expect(await node.get(CONFIG_MAPS, { namespace: 'default', name: 'kept' })).toMatchObject({
    data: { k: 'v' },
  });
  expect((await node.get(NODES, { name: NODE })).metadata.name).toBe(NODE);
  expect((await node.list(PODS, { ...MINE, resourceVersion: '0' })).items).toHaveLength(before.length);
  await goOnline(edge);
});
