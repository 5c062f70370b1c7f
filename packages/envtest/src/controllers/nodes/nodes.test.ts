import { LEASES, type Lease, NODES, type Node, PODS } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import type { Toleration } from 'kubernetes-types/core/v1.d.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { TestCluster } from '../workloads/testing/test-cluster.ts';
import { nodeControllers } from './index.ts';
import { podCollectionController, surplus } from './pod-collection.ts';

let cluster: TestCluster;
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await cluster.stop();
});

/** A node that sends heartbeats until it is silenced. */
async function liveNode(name: string): Promise<{ silence(): Promise<void>; reportReady(): Promise<void> }> {
  const node: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { capacity: { cpu: '4', memory: '8Gi', pods: '110' } },
  };
  await cluster.client.create(NODES, node);
  const lease: Lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'kube-node-lease' },
    spec: { holderIdentity: name },
  };
  await cluster.client.create(LEASES, lease);
  const target = { namespace: 'kube-node-lease', name };
  let beating = Promise.resolve();
  const timer = setInterval(() => {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    beating = beating.then(async () => {
      await cluster.client.patch(LEASES, target, 'merge', { spec: { renewTime } });
    });
  }, 100);
  const silence = (): Promise<void> => {
    clearInterval(timer);
    return beating;
  };
  stops.push(silence);
  const reportReady = async (): Promise<void> => {
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const conditions = [
      {
        type: 'Ready',
        status: 'True',
        lastHeartbeatTime: now,
        lastTransitionTime: now,
        reason: 'KubeletReady',
      },
    ];
    await cluster.client.patch(NODES, { name, subresource: 'status' }, 'strategic', {
      status: { conditions },
    });
  };
  await reportReady();
  return { silence, reportReady };
}

async function runningPod(name: string, nodeName: string, tolerationSeconds?: number): Promise<void> {
  const tolerations: Toleration[] = [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds }];
  const pod = await cluster.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { nodeName, tolerations, containers: [{ name: 'c', image: 'i' }] },
  });
  await cluster.reportReady(pod);
}

const taintsOf = async (name: string): Promise<string[]> =>
  ((await cluster.get(NODES, name)).spec?.taints ?? [])
    .map(({ key, effect }) => `${key.split('/')[1]}:${effect}`)
    .sort();

const readyOf = async (name: string): Promise<string | undefined> =>
  (await cluster.get(NODES, name)).status?.conditions?.find(({ type }) => type === 'Ready')?.status;

describe('nodes', () => {
  const start = async (): Promise<void> => {
    cluster = await TestCluster.start(nodeControllers({ clusterCidr: '10.7.0.0/16', nodeGraceMs: 1000 }));
  };

  it('assigns a pod CIDR to a new node, and removes its taint when it is ready', async () => {
    await start();
    await liveNode('a');
    await liveNode('b');
    const cidrs = await cluster.eventually('both blocks', async () => {
      const found = await Promise.all(['a', 'b'].map(async (name) => (await cluster.get(NODES, name)).spec));
      return found.every((spec) => spec?.podCIDR !== undefined) && found.map((spec) => spec?.podCIDRs);
    });
    expect(cidrs.toSorted()).toEqual([['10.7.1.0/24'], ['10.7.2.0/24']]);
    await cluster.eventually('no taints', async () => (await taintsOf('a')).length === 0);
  });

  it('detects a lost node, evicts its pods, and accepts it back', async () => {
    await start();
    const [lost] = [await liveNode('lost'), await liveNode('well')];
    await runningPod('patient', 'lost');
    await runningPod('hasty', 'lost', 0);
    await runningPod('elsewhere', 'well', 0);
    await lost.silence();
    await cluster.eventually('evicted', async () => {
      const { metadata, status } = await cluster.get(PODS, 'hasty');
      const reasons = (status?.conditions ?? []).map(({ reason }) => reason);
      return metadata.deletionTimestamp !== undefined && reasons.includes('DeletionByTaintManager');
    });
    expect(await readyOf('lost')).toBe('Unknown');
    expect(await taintsOf('lost')).toEqual(['unreachable:NoExecute', 'unreachable:NoSchedule']);
    const patient = await cluster.eventually('unready', async () => {
      const pod = await cluster.get(PODS, 'patient');
      return (
        pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'False') && pod
      );
    });
    expect(patient.metadata.deletionTimestamp).toBeUndefined();
    await lost.reportReady();
    await cluster.eventually('no taints', async () => (await taintsOf('lost')).length === 0);
    expect(await readyOf('well')).toBe('True');
    expect((await cluster.get(PODS, 'elsewhere')).metadata.deletionTimestamp).toBeUndefined();
  });

  it('evicts no pod when all nodes fall silent at once', async () => {
    await start();
    const nodes = [await liveNode('a'), await liveNode('b')];
    await runningPod('p', 'a', 0);
    await Promise.all(nodes.map((node) => node.silence()));
    await cluster.eventually('both are Unknown', async () => {
      const taints = await Promise.all(['a', 'b'].map(taintsOf));
      return taints.flat().filter((taint) => taint === 'unreachable:NoSchedule').length === 2;
    });
    expect((await taintsOf('a')).concat(await taintsOf('b'))).not.toContain('unreachable:NoExecute');
    expect((await cluster.get(PODS, 'p')).metadata.deletionTimestamp).toBeUndefined();
  });
});

describe('the pod garbage collector', () => {
  it('deletes pods of a node that is gone', async () => {
    const clock = new VirtualClock();
    cluster = await TestCluster.start([podCollectionController()], clock);
    await cluster.client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } });
    await runningPod('stays', 'a');
    await runningPod('orphan', 'gone');
    await cluster.eventually('collected', async () => {
      await clock.advance(1000);
      return (await cluster.list(PODS)).length === 1;
    });
    expect((await cluster.list(PODS)).map(({ metadata }) => metadata.name)).toEqual(['stays']);
    await cluster.client.delete(NODES, { name: 'a' });
    await cluster.eventually('collected', async () => {
      await clock.advance(1000);
      return (await cluster.list(PODS)).length === 0;
    });
  });

  it('deletes terminating pods on a node that is out of service', async () => {
    cluster = await TestCluster.start([podCollectionController()]);
    const key = 'node.kubernetes.io/out-of-service';
    await cluster.client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } });
    await runningPod('ending', 'a');
    await runningPod('stays', 'a');
    await cluster.client.delete(PODS, { namespace: 'default', name: 'ending' });
    await cluster.client.patch(NODES, { name: 'a' }, 'merge', {
      spec: { taints: [{ key, effect: 'NoExecute' }] },
    });
    await cluster.eventually('collected', async () => (await cluster.list(PODS)).length === 1);
    expect((await cluster.list(PODS)).map(({ metadata }) => metadata.name)).toEqual(['stays']);
  });

  it('deletes the oldest finished pods above the limit', () => {
    const pod = (name: string, phase: string, creationTimestamp: string) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, creationTimestamp },
      status: { phase },
    });
    const pods = [
      pod('young', 'Failed', '2026-01-03T00:00:00Z'),
      pod('old', 'Succeeded', '2026-01-01T00:00:00Z'),
      pod('runs', 'Running', '2025-01-01T00:00:00Z'),
      pod('middle', 'Failed', '2026-01-02T00:00:00Z'),
    ];
    expect(surplus(pods, 3)).toEqual([]);
    expect(surplus(pods, 1).map(({ metadata }) => metadata.name)).toEqual(['old', 'middle']);
  });
});
