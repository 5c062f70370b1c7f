import { CONTROLLER_REVISIONS, DAEMON_SETS, type DaemonSet, NODES } from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestCluster } from '../testing/test-cluster.ts';
import { daemonSetController } from './index.ts';
import { targetNode } from './pods.ts';

const daemonSet: DaemonSet = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: { containers: [{ name: 'c', image: 'one' }] },
    },
  },
};

describe('daemonSetController', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await TestCluster.start([daemonSetController]);
    for (const name of ['a', 'b']) await addNode(name);
    await cluster.create(DAEMON_SETS, daemonSet);
  });
  afterEach(() => cluster.stop());

  async function addNode(name: string): Promise<void> {
    await cluster.client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    await cluster.client.patch(NODES, { name }, 'merge', { spec: { taints: null } });
  }
  const targets = async () => (await cluster.pods()).map(targetNode).toSorted();
  const image = (image: string) =>
    cluster.client.patch(DAEMON_SETS, { namespace: 'default', name: 'agent' }, 'strategic', {
      spec: { template: { spec: { containers: [{ name: 'c', image }] } } },
    });
  const rolledOut = (image: string) =>
    cluster.runPods(`all pods at ${image}`, async () => {
      const { metadata, status } = await cluster.get(DAEMON_SETS, 'agent');
      const pods = await cluster.pods();
      const isDone =
        status?.observedGeneration === metadata.generation &&
        status?.updatedNumberScheduled === pods.length &&
        status?.numberAvailable === pods.length;
      return isDone && pods.every(({ spec }) => spec?.containers[0]?.image === image) && status;
    });

  it('follows the nodes', async () => {
    await cluster.eventually('two pods', async () => (await targets()).join() === 'a,b');
    await addNode('c');
    await cluster.eventually('three pods', async () => (await targets()).join() === 'a,b,c');
    await cluster.client.delete(NODES, { name: 'a' });
    await cluster.eventually(
      'the pod that waits for the node is deleted',
      async () => (await targets()).join() === 'b,c',
    );
    expect(await rolledOut('one')).toMatchObject({
      desiredNumberScheduled: 2,
      currentNumberScheduled: 2,
      numberMisscheduled: 0,
      numberReady: 2,
    });
  });

  it('rolls out, keeps the history, and rolls back', async () => {
    await rolledOut('one');
    await image('two');
    await rolledOut('two');
    const revisions = async () =>
      (await cluster.list(CONTROLLER_REVISIONS)).toSorted((a, b) => a.revision - b.revision);
    const [first, second, ...others] = await revisions();
    expect([first?.revision, second?.revision, others.length]).toEqual([1, 2, 0]);
    expect(second?.metadata.labels).toMatchObject({ app: 'agent' });
    // The same patch as `kubectl rollout undo`.
    const target = { namespace: 'default', name: 'agent' };
    await cluster.client.patch(DAEMON_SETS, target, 'strategic', first!.data);
    await rolledOut('one');
    const after = await revisions();
    expect(after.map(({ metadata, revision }) => [metadata.name, revision])).toEqual([
      [second?.metadata.name, 2],
      [first?.metadata.name, 3],
    ]);
  });

  it('replaces a failed pod', async () => {
    await rolledOut('one');
    const [pod] = await cluster.pods();
    await cluster.report(pod!, { phase: 'Failed', conditions: [] });
    await cluster.runPods('another pod', async () => {
      const pods = await cluster.pods();
      return pods.length === 2 && pods.every(({ metadata }) => metadata.name !== pod!.metadata.name);
    });
    await cluster.eventually('the event', async () => (await cluster.events('FailedDaemonPod')).length === 1);
  });
});
