/** Views between the embedded API server, which stops and starts, and a disk. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { startApiServer } from '@tidegate/envtest/apiserver';
import {
  CONFIG_MAPS,
  type ConfigMap,
  KubeClient,
  loadConfig,
  Metrics,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { SwitchedConnection } from '@tidegate/kube/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { objectOf } from '../../packages/tidegate/src/hub/views/item.ts';
import type { View, ViewKey } from '../../packages/tidegate/src/hub/views/view.ts';
import { Views } from '../../packages/tidegate/src/hub/views/views.ts';
import { PATIENCE_MS } from '../support/patience.ts';

const KEY: ViewKey = {
  identity: 'sa:default:app:1',
  resource: CONFIG_MAPS,
  namespace: 'default',
  labelSelector: 'kept=yes',
  fieldSelector: '',
};

let directory: string;
let server: Awaited<ReturnType<typeof startApiServer>>;
let admin: KubeClient;
let map: DurableMap;
let views: Views;
const connection = new SwitchedConnection();

const startServer = async (port: number): ReturnType<typeof startApiServer> =>
  startApiServer({ directory: join(directory, 'server'), port, log: silentLogger, version: 'test' });

async function cut(): Promise<number> {
  const { port } = server;
  connection.turn(false);
  await server.close();
  return port;
}

async function openViews(): Promise<void> {
  map = await DurableMap.open(join(directory, 'views'));
  views = await Views.open({
    map,
    node: admin,
    nodeName: 'edge',
    client: (credentials) => new KubeClient({ ...admin.config, credentials }),
    holderOf: (identity) => ({ identity, tenant: identity }),
    upstream: connection,
    clock: systemClock,
    random: Math.random,
    log: silentLogger,
    metrics: new Metrics(),
  });
}

async function closeViews(): Promise<void> {
  await views.close();
  await map.close();
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-views-'));
  server = await startServer(0);
  const kubeconfig = join(directory, 'kubeconfig');
  server.writeAdminKubeconfig(kubeconfig);
  admin = new KubeClient(await loadConfig({ env: {}, path: kubeconfig }));
  await openViews();
});
afterAll(async () => {
  await closeViews();
  await admin.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

const write = (name: string, value: string, kept = 'yes'): Promise<ConfigMap> =>
  admin.patch(
    CONFIG_MAPS,
    { namespace: 'default', name },
    'apply',
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, labels: { kept } },
      data: { value },
    },
    { fieldManager: 'test', force: true },
  );
const remove = (name: string) => admin.delete(CONFIG_MAPS, { namespace: 'default', name });

const contents = (view: View): Record<string, unknown> =>
  Object.fromEntries(
    [...view.items()]
      .map((item) => [item.key, objectOf(item)])
      .sort(([a], [b]) => (`${a}` < `${b}` ? -1 : 1)),
  );
async function upstream(): Promise<Record<string, unknown>> {
  const { items } = await admin.list(CONFIG_MAPS, { namespace: 'default', labelSelector: 'kept=yes' });
  return Object.fromEntries(items.map((item) => [`default/${item.metadata.name}`, item]));
}
const story = (view: View): string[] => {
  const events: string[] = [];
  view.subscribe((changes) => {
    events.push(...changes.map(({ type, item }) => `${type} ${item.key.slice('default/'.length)}`));
  });
  return events;
};
const follow = async (): Promise<View> => {
  const { view } = views.private(KEY, admin.config.credentials);
  await view.ready(new AbortController().signal);
  return view;
};
const isCurrent = (view: View) =>
  vi.waitFor(async () => {
    expect(view.state).toBe('following');
    expect(contents(view)).toEqual(await upstream());
  }, PATIENCE_MS);

test('a view follows the API server through its restart', async () => {
  await write('a', '1');
  await write('b', '1');
  await write('other', '1', 'no');
  const view = await follow();
  await isCurrent(view);
  expect(view).toMatchObject({ size: 2, kind: 'ConfigMap', listKind: 'ConfigMapList' });
  const events = story(view);
  await write('a', '2');
  await write('b', '2', 'no');
  await isCurrent(view);
  expect(events).toEqual(['put a', 'delete b']);

  server = await startServer(await cut());
  await write('b', '3');
  await remove('a');
  expect(view.state).toBe('stored');
  connection.turn(true);
  await isCurrent(view);
  expect(events.splice(2)).toEqual(['put b', 'delete a']);
});

test('views start without the API server, and later get the changes that they missed', async () => {
  await write('c', '1');
  await isCurrent(await follow());
  const before = await upstream();
  const port = await cut();
  await closeViews();
  await openViews();
  const view = await follow();
  expect(contents(view)).toEqual(before);
  expect(await views.covering(KEY.identity, CONFIG_MAPS, 'default', 'c')).toMatchObject({ result: 'found' });
  expect(await views.covering(KEY.identity, CONFIG_MAPS, 'default', 'other')).toEqual({ result: 'unknown' });

  server = await startServer(port);
  const events = story(view);
  await remove('c');
  await write('d', '1');
  connection.turn(true);
  await isCurrent(view);
  expect(events).toEqual(['delete c', 'put d']);
});

test('changes that are no longer in the watch history arrive', async () => {
  const view = await follow();
  await isCurrent(view);
  const events = story(view);
  server = await startServer(await cut());
  await remove('d');
  await write('e', '1');
  const key = { resource: 'configmaps', namespace: 'default', name: 'busy' };
  const value = Buffer.from(
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"busy","namespace":"default"}}',
  );
  const put = () => server.core.store.write(key, () => ({ type: 'put', value }));
  for (let i = 0; i < 21; i++) await Promise.all(Array.from({ length: 1000 }, put));
  connection.turn(true);
  await isCurrent(view);
  expect(events).toEqual(['put e', 'delete d']);
});
