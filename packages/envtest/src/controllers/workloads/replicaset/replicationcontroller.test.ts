import { PODS, REPLICATION_CONTROLLERS, type ReplicationController } from '@tidegate/kube';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestCluster } from '../testing/test-cluster.ts';
import { replicationController } from './index.ts';

const QUOTAS = { group: '', version: 'v1', resource: 'resourcequotas', namespaced: true };

const web = (replicas: number): ReplicationController => ({
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name: 'web' },
  spec: {
    replicas,
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web:1' }] },
    },
  },
});

describe('a ReplicationController', () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.start([replicationController]);
  });
  afterAll(() => cluster.stop());
  beforeEach(() => cluster.useNewNamespace());

  const podNames = async (): Promise<string[]> => {
    const { items } = await cluster.client.list(PODS, { namespace: cluster.namespace });
    return items.map(({ metadata }) => metadata.name ?? '');
  };

  it('creates the wanted number of pods and deletes the rest', async () => {
    await cluster.create(REPLICATION_CONTROLLERS, web(3));
    await cluster.eventually('three pods', async () => (await podNames()).length === 3);
    await cluster.client.patch(REPLICATION_CONTROLLERS, cluster.target('web'), 'merge', {
      spec: { replicas: 1 },
    });
    await cluster.eventually('one pod', async () => (await podNames()).length === 1);
    await cluster.eventually('the status', async () => {
      const { status } = await cluster.get(REPLICATION_CONTROLLERS, 'web');
      return status?.replicas === 1 && status.observedGeneration === 2;
    });
  });

  it('reports that a quota does not allow more pods, until it does', async () => {
    await cluster.create(QUOTAS, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'two' },
      spec: { hard: { pods: '2' } },
    });
    await cluster.create(REPLICATION_CONTROLLERS, web(3));
    const conditionOf = async () => {
      const { status } = await cluster.get(REPLICATION_CONTROLLERS, 'web');
      return status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
    };
    const failed = await cluster.eventually('the condition', conditionOf);
    expect(failed).toMatchObject({
      status: 'True',
      reason: 'FailedCreate',
      message: expect.stringContaining(
        'exceeded quota: two, requested: pods=1, used: pods=2, limited: pods=2',
      ),
    });
    expect(await podNames()).toHaveLength(2);
    await cluster.client.patch(REPLICATION_CONTROLLERS, cluster.target('web'), 'merge', {
      spec: { replicas: 2 },
    });
    await cluster.eventually('no condition', async () => (await conditionOf()) === undefined);
  });
});
