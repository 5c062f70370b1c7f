import { NODES, type Node, PODS, type Pod } from '@tidegate/kube';
import type { PodSpec } from 'kubernetes-types/core/v1.d.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { TestCluster } from '../workloads/testing/test-cluster.ts';
import { schedulerController } from './scheduler.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start([schedulerController]);
});
afterEach(() => cluster.stop());

async function addNode(name: string, labels: Record<string, string> = {}, pods = '110'): Promise<void> {
  const node: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    status: { capacity: { cpu: '4', memory: '8Gi', pods } },
  };
  await cluster.client.create(NODES, node);
  // The node lifecycle controller removes the taint when the node is ready.
  await cluster.client.patch(NODES, { name }, 'merge', { spec: { taints: null } });
}

const pod = (name: string, spec: Partial<PodSpec> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

const nodeOf = async (name: string): Promise<string | undefined> =>
  (await cluster.get(PODS, name)).spec?.nodeName;

const scheduled = async (name: string) =>
  (await cluster.get(PODS, name)).status?.conditions?.find(({ type }) => type === 'PodScheduled');

it('binds a pod, records an event, and ignores pods of another scheduler', async () => {
  await addNode('n1');
  await cluster.create(PODS, pod('other', { schedulerName: 'mine' }));
  await cluster.create(PODS, pod('p'));
  expect(await cluster.eventually('the binding', () => nodeOf('p'))).toBe('n1');
  expect(await scheduled('p')).toMatchObject({ status: 'True' });
  await cluster.eventually('the event', async () => (await cluster.events('Scheduled')).length > 0);
  expect(await cluster.events('Scheduled')).toEqual(['Successfully assigned default/p to n1']);
  expect(await nodeOf('other')).toBeUndefined();
});

it('reports why no node fits, once for each reason, and tries again when a node changes', async () => {
  await cluster.create(PODS, pod('p', { nodeSelector: { location: 'beijing' } }));
  await cluster.eventually('no nodes', async () =>
    (await scheduled('p'))?.message?.startsWith('no nodes available'),
  );
  await addNode('n1');
  const condition = await cluster.eventually('another reason', async () => {
    const found = await scheduled('p');
    return found?.message?.includes('affinity/selector') && found;
  });
  expect(condition).toMatchObject({ status: 'False', reason: 'Unschedulable' });
  await cluster.client.patch(NODES, { name: 'n1' }, 'merge', {
    metadata: { labels: { location: 'beijing' } },
  });
  expect(await cluster.eventually('the binding', () => nodeOf('p'))).toBe('n1');
  const told = await cluster.events('FailedScheduling');
  expect(new Set(told).size).toBe(told.length);
});

it('gives the room of a deleted pod to a waiting one', async () => {
  await addNode('n1', {}, '1');
  await cluster.create(PODS, pod('first'));
  await cluster.eventually('the binding', () => nodeOf('first'));
  await cluster.create(PODS, pod('second'));
  await cluster.eventually('full', async () =>
    (await scheduled('second'))?.message?.includes('Too many pods'),
  );
  await cluster.client.delete(PODS, { namespace: 'default', name: 'first' }, { gracePeriodSeconds: 0 });
  expect(await cluster.eventually('the binding', () => nodeOf('second'))).toBe('n1');
});

it('waits until the last scheduling gate is removed', async () => {
  await addNode('n1');
  await cluster.create(PODS, pod('gated', { schedulingGates: [{ name: 'example.com/quota' }] }));
  await cluster.create(PODS, pod('later'));
  await cluster.eventually('the binding of another', () => nodeOf('later'));
  expect(await nodeOf('gated')).toBeUndefined();
  expect(await scheduled('gated')).toMatchObject({ reason: 'SchedulingGated' });
  await cluster.client.patch(PODS, { namespace: 'default', name: 'gated' }, 'merge', {
    spec: { schedulingGates: null },
  });
  expect(await cluster.eventually('the binding', () => nodeOf('gated'))).toBe('n1');
});

it('never assigns the same room twice when many pods arrive at once', async () => {
  await Promise.all(Array.from({ length: 10 }, (_, i) => addNode(`n${i}`, {}, '10')));
  const pods = Array.from({ length: 110 }, (_, i) => pod(`p${i}`));
  await Promise.all(pods.map((each) => cluster.create(PODS, each)));
  const all = await cluster.eventually('all pods have a decision', async () => {
    const found = await cluster.pods();
    const decided = found.filter(
      ({ spec, status }) =>
        spec?.nodeName !== undefined || status?.conditions?.some(({ reason }) => reason === 'Unschedulable'),
    );
    return decided.length === 110 && decided;
  });
  const perNode = new Map<string, number>();
  for (const { spec } of all) {
    if (spec?.nodeName !== undefined) perNode.set(spec.nodeName, (perNode.get(spec.nodeName) ?? 0) + 1);
  }
  expect([...perNode.values()]).toEqual(Array(10).fill(10));
});
