/** A hub whose state is on a file system that is filled and freed, online and offline. */
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { CONFIG_MAPS, type KubeObject, NODES, PODS, type Resource } from '@tidegate/kube';
import { expect, it, onTestFinished } from 'vitest';
import { Edge, NODE } from '../support/edge.ts';
import { configMap, goOffline, goOnline, pod, podNames, soon } from '../support/edge-objects.ts';
import { say } from '../support/wire.ts';

const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };

const event = (name: string, kilobytes = 0): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: 'default' },
  involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
  reason: 'Test',
  message: 'x'.repeat(kilobytes << 10),
  type: 'Normal',
});

it('serves reads, forwards writes, refuses what only the disk could keep, and recovers by itself', async () => {
  const disk = await smallDisk();
  const edge = await Edge.start({ state: join(disk.directory, 'hub') });
  onTestFinished(() => edge.stop());
  const node = edge.node();
  const readiness = async () => (await say(edge.administration, '/v1/readyz')).text.trim();
  await node.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  await edge.admin.create(PODS, pod('p'));
  await soon(async () => expect(await podNames(node)).toEqual(['p']));
  expect(await readiness()).toBe('ok');

  // Online: nothing needs the disk.
  disk.fill();
  await edge.admin.create(CONFIG_MAPS, configMap('c', { text: 'x'.repeat(64 << 10) }));
  await edge.admin.create(PODS, pod('q'));
  await node.create(EVENTS, event('forwarded', 8));
  await soon(async () => expect(await podNames(node)).toEqual(['p', 'q']));
  await soon(async () =>
    expect(await readiness()).toMatch(
      /^ok\nwarning: no space left on the file system of .*\/hub: free some space/,
    ),
  );

  // Offline: reads go on, and a write that the journal cannot keep is refused.
  await goOffline(edge);
  expect(await podNames(node)).toEqual(['p', 'q']);
  await expect(node.create(EVENTS, event('refused', 64))).rejects.toMatchObject({
    code: 507,
    reason: 'InsufficientStorage',
    message: `the API server is unreachable, and the hub cannot store the write until then: no space left on the file system of ${edge.state}: free some space and try again`,
  });
  expect((await say(edge.administration, '/v1/journal')).json()).toEqual([]);

  disk.free();
  await soon(async () => expect(await readiness()).toBe('ok'));
  await node.create(EVENTS, event('journaled', 64));

  // A restart without the API server: everything that was read and accepted is on the disk now.
  await edge.killHub();
  const again = edge.node();
  await soon(async () => expect(await podNames(again)).toEqual(['p', 'q']));
  await goOnline(edge);
  await soon(async () => {
    const { items } = await edge.admin.list(EVENTS, { namespace: 'default' });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['forwarded', 'journaled']);
  });
});

it('restarts on a full disk without a link, and serves what it has stored', async () => {
  const disk = await smallDisk();
  const edge = await Edge.start({ state: join(disk.directory, 'hub') });
  onTestFinished(() => edge.stop());
  await edge.admin.create(PODS, pod('p'));
  const node = edge.node();
  await soon(async () => expect(await podNames(node)).toEqual(['p']));
  await goOffline(edge);
  await edge.hub.close();
  disk.fill();
  await edge.startHub();
  const again = edge.node();
  await soon(async () => expect(await podNames(again)).toEqual(['p']));
  await expect(again.create(EVENTS, event('refused', 64))).rejects.toMatchObject({ code: 507 });
  // A hub that stops says what it could not store.
  disk.free();
});

it('fails to start for the first time on a full disk, with one sentence', async () => {
  const disk = await smallDisk();
  disk.fill();
  await expect(Edge.start({ state: join(disk.directory, 'hub') })).rejects.toMatchObject({
    name: 'DiskError',
    message: `no space left on the file system of ${join(disk.directory, 'hub')}: free some space and try again`,
  });
});
