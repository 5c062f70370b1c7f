/** An agent whose state directory is on a file system that is filled and freed. */
import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import {
  type Clock,
  type KubeObject,
  NODES,
  PODS,
  type Pod,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { expect, onTestFinished, test } from 'vitest';
import { startAgent } from './index.ts';
import { startTestCluster } from './testing/cluster.ts';
import { eventually } from './testing/eventually.ts';

const NODE = 'node-a';
const RANGE = `127.${randomInt(130, 250)}.${randomInt(1, 250)}`;

/** The node reports its status ten times as often as in a cluster, and starts containers again as much sooner. */
const impatient: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms / 10, fire) };

test('a full disk is shown in the events of a pod and in the status of its node, until there is space', async () => {
  const cluster = await startTestCluster();
  onTestFinished(() => cluster.stop());
  const disk = await smallDisk();
  const images = [{ image: 'sleeper', command: [process.execPath, '-e', 'setInterval(() => {}, 1000)'] }];
  const imagesFile = join(cluster.directory, 'images.yaml');
  await writeFile(imagesFile, JSON.stringify({ images }));
  const agent = await startAgent({
    name: NODE,
    client: await cluster.node(NODE),
    proxyClient: cluster.admin,
    address: `${RANGE}.1`,
    listenPort: 0,
    advertisePort: 10250,
    labels: {},
    stateDirectory: join(disk.directory, NODE),
    imagesFile,
    program: [],
    path: process.env.PATH ?? '',
    kubernetesVersion: 'v1.36.4',
    version: 'test',
    clock: impatient,
    log: silentLogger,
  });
  onTestFinished(() => agent.close());
  await cluster.admin.patch(NODES, { name: NODE }, 'merge', { spec: { podCIDR: `${RANGE}.0/24` } });

  const diskPressure = async (): Promise<string | undefined> => {
    const { status } = await cluster.admin.get(NODES, { name: NODE });
    return status?.conditions?.find(({ type }) => type === 'DiskPressure')?.status;
  };
  const container = async () => {
    const { status } = await cluster.admin.get(PODS, { namespace: 'default', name: 'web' });
    return status?.containerStatuses?.[0];
  };
  const warnings = async (): Promise<string[]> => {
    const events = { group: '', version: 'v1', resource: 'events', namespaced: true };
    const { items } = await cluster.admin.list<KubeObject>(events, { namespace: 'default' });
    return items
      .filter(({ type }) => type === 'Warning')
      .map(({ reason, message }) => `${reason}: ${message}`);
  };

  expect(await diskPressure()).toBe('False');
  const { metadata } = await cluster.admin.create<Pod>(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      nodeName: NODE,
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'sleeper' }],
    },
  });
  await eventually(async () => expect((await container())?.state?.running).toBeDefined());

  disk.fill();
  // The record of the pod cannot be written when its container ends, so the container cannot be started again.
  const record = await readFile(join(disk.directory, NODE, 'pods', metadata.uid ?? '', 'pod.json'), 'utf8');
  process.kill(Number(/"pid":(\d+)/.exec(record)?.[1]), 'SIGKILL');
  await eventually(async () =>
    expect(await warnings()).toContainEqual(
      expect.stringMatching(/^FailedSync: Error syncing pod: no space left on the file system of /),
    ),
  );
  await eventually(async () => expect(await diskPressure()).toBe('True'));

  disk.free();
  await eventually(async () => expect(await diskPressure()).toBe('False'));
  await eventually(async () =>
    expect(await container()).toMatchObject({ restartCount: 1, state: { running: {} } }),
  );
});
