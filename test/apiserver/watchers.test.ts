/** Many watchers of the same objects, and lists with selectors: each client sees its own selection, in order. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServer } from '@tidegate/envtest/apiserver';
import { KubeClient, type KubeObject, loadConfig, silentLogger, type WatchEvent } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';

const CONFIGMAPS = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
const OBJECTS = 40;
const WATCHERS = 8;
/** Clients that write at the same time. */
const WRITERS = 8;

let directory: string;
let server: Awaited<ReturnType<typeof startApiServer>>;
let client: KubeClient;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-watchers-'));
  server = await startApiServer({ directory, port: 0, log: silentLogger, version: 'test' });
  const kubeconfig = join(directory, 'kubeconfig');
  server.writeAdminKubeconfig(kubeconfig);
  client = new KubeClient(await loadConfig({ env: {}, path: kubeconfig }));
});
afterAll(async () => {
  await client.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

const configMap = (namespace: string, name: string, group: string, text = ''): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { group }, annotations: { note: '"labels":{"group":"a"}' } },
  data: { text },
});

/** Collects the events up to the deletion of `last`, which every watcher of the tests sees. */
async function collect(namespace: string, options: { labelSelector?: string; resourceVersion?: string }) {
  const watch = await client.watch(CONFIGMAPS, { namespace, ...options });
  const collected = (async () => {
    const events: string[] = [];
    for await (const event of watch as AsyncIterable<WatchEvent<KubeObject>>) {
      const { name, resourceVersion, labels } = event.object.metadata;
      if (event.type === 'BOOKMARK') continue;
      events.push(`${event.type} ${name} ${labels?.group} ${resourceVersion}`);
      if (event.type === 'DELETED' && name === 'last') return events;
    }
    return events;
  })();
  return { collected };
}

test('sends every watcher the same events in the order of the writes', async () => {
  const namespace = 'default';
  const { resourceVersion = '' } = (await client.list(CONFIGMAPS, { namespace })).metadata;
  const open = (labelSelector?: string) => collect(namespace, { labelSelector, resourceVersion });
  const all = await Promise.all(Array.from({ length: WATCHERS }, () => open()));
  const selecting = await Promise.all(Array.from({ length: WATCHERS }, () => open('group=a')));

  // Writes of many clients share a sync, so that several events reach a watcher at once.
  const names = Array.from({ length: OBJECTS }, (_, i) => `object-${i}`);
  const group = (i: number): string => (i % 4 === 0 ? 'a' : 'b');
  const write = async (one: (name: string, i: number) => Promise<unknown>): Promise<void> => {
    const left = [...names.entries()];
    const writer = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) await one(next[1], next[0]);
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
  };
  await write((name, i) => client.create(CONFIGMAPS, configMap(namespace, name, group(i))));
  await write((name, i) =>
    client.update(CONFIGMAPS, configMap(namespace, name, group(i + 1), 'é'.repeat(3000))),
  );
  await client.create(CONFIGMAPS, configMap(namespace, 'last', 'a'));
  await client.delete(CONFIGMAPS, { namespace, name: 'last' });

  const [first = [], ...others] = await Promise.all(all.map(({ collected }) => collected));
  expect(first).toHaveLength(2 * OBJECTS + 2);
  for (const events of others) expect(events).toEqual(first);
  const revisions = first.map((event) => Number(event.split(' ').at(-1)));
  expect(revisions).toEqual(revisions.toSorted((x, y) => x - y));

  const [selected = [], ...rest] = await Promise.all(selecting.map(({ collected }) => collected));
  for (const events of rest) expect(events).toEqual(selected);
  const kinds = (type: string): number => selected.filter((event) => event.startsWith(type)).length;
  // A quarter begins with the label and loses it, another quarter receives it; "last" is created and deleted.
  expect([kinds('ADDED'), kinds('MODIFIED'), kinds('DELETED')]).toEqual([
    OBJECTS / 2 + 1,
    0,
    OBJECTS / 4 + 1,
  ]);

  // A watch from an earlier revision receives the same events from the history.
  const late = await collect(namespace, { resourceVersion });
  expect(await late.collected).toEqual(first);
  const lateSelecting = await collect(namespace, { labelSelector: 'group=a', resourceVersion });
  expect(await lateSelecting.collected).toEqual(selected);
});

test('lists with label selectors before and after changes', async () => {
  const namespace = 'kube-public';
  const listed = async (labelSelector: string): Promise<(string | undefined)[]> => {
    const { items } = await client.list(CONFIGMAPS, { namespace, labelSelector });
    return items.map((item) => item.metadata.name);
  };
  for (const [name, group] of [
    ['one', 'a'],
    ['two', 'b'],
    ['three', 'a'],
  ] as const) {
    await client.create(CONFIGMAPS, configMap(namespace, name, group));
  }
  expect(await listed('group=a')).toEqual(['one', 'three']);
  expect(await listed('group in (a, b),group!=b')).toEqual(['one', 'three']);
  expect(await listed('!group')).not.toContain('one');
  await client.update(CONFIGMAPS, configMap(namespace, 'two', 'a'));
  await client.update(CONFIGMAPS, {
    ...configMap(namespace, 'one', 'a'),
    metadata: { name: 'one', namespace },
  });
  expect(await listed('group=a')).toEqual(['three', 'two']);
  expect(await listed('!group')).toContain('one');
  // The note of every object looks like labels.
  expect(await listed('group=b')).toEqual([]);
});
