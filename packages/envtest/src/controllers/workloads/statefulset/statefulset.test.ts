import {
  CONTROLLER_REVISIONS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  STATEFUL_SETS,
  type StatefulSet,
} from '@tidegate/kube';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestCluster } from '../testing/test-cluster.ts';
import { statefulSetController } from './index.ts';

const statefulSet = (spec: object = {}): StatefulSet => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db' },
  spec: {
    serviceName: 'db',
    replicas: 2,
    selector: { matchLabels: { app: 'db' } },
    template: {
      metadata: { labels: { app: 'db' } },
      spec: {
        containers: [{ name: 'c', image: 'one', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
    ...spec,
  },
});

describe('statefulSetController', () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.start([statefulSetController]);
  });
  afterAll(() => cluster.stop());
  beforeEach(() => cluster.useNewNamespace());

  const names = async () => (await cluster.pods()).map(({ metadata }) => metadata.name).join();
  const image = (image: string) =>
    cluster.client.patch(STATEFUL_SETS, cluster.target('db'), 'strategic', {
      spec: { template: { spec: { containers: [{ name: 'c', image }] } } },
    });
  const settled = (replicas: number) =>
    cluster.runPods(`${replicas} pods of the update revision`, async () => {
      const { metadata, status } = await cluster.get(STATEFUL_SETS, 'db');
      const isDone =
        status?.observedGeneration === metadata.generation &&
        status?.currentRevision === status?.updateRevision &&
        (status?.readyReplicas ?? 0) === replicas &&
        status?.replicas === replicas;
      return isDone && status;
    });

  it('creates pods in order, each with a claim of its own', async () => {
    await cluster.create(STATEFUL_SETS, statefulSet());
    await cluster.eventually('the first pod', async () => (await names()) === 'db-0');
    const [first] = await cluster.pods();
    const persistentVolumeClaim = { claimName: 'data-db-0' };
    expect(first?.spec?.volumes).toContainEqual({ name: 'data', persistentVolumeClaim });
    await cluster.reportReady(first!);
    await cluster.eventually('the second pod', async () => (await names()) === 'db-0,db-1');
    await settled(2);
    const claims = await cluster.list(PERSISTENT_VOLUME_CLAIMS);
    expect(claims.map(({ metadata }) => metadata.name)).toEqual(['data-db-0', 'data-db-1']);
    expect(await cluster.events('SuccessfulCreate')).toContain(
      'create Pod db-0 in StatefulSet db successful',
    );
  });

  it('rolls out, rolls back, scales down', async () => {
    await cluster.create(STATEFUL_SETS, statefulSet());
    const before = await settled(2);
    await image('two');
    const after = await settled(2);
    expect(after.updateRevision).not.toBe(before.updateRevision);
    expect((await cluster.pods()).map(({ spec }) => spec?.containers[0]?.image)).toEqual(['two', 'two']);
    const revisions = await cluster.list(CONTROLLER_REVISIONS);
    const first = revisions.find(({ metadata }) => metadata.name === before.updateRevision);
    await cluster.client.patch(STATEFUL_SETS, cluster.target('db'), 'strategic', first!.data);
    expect((await settled(2)).updateRevision).toBe(before.updateRevision);
    await cluster.client.patch(STATEFUL_SETS, cluster.target('db'), 'merge', { spec: { replicas: 0 } });
    await cluster.runPods('no pods', async () => (await cluster.list(PODS)).length === 0);
  });

  it('with Parallel, creates all pods at once, and replaces a lost one', async () => {
    await cluster.create(STATEFUL_SETS, statefulSet({ podManagementPolicy: 'Parallel', replicas: 3 }));
    await cluster.eventually('all pods', async () => (await names()) === 'db-0,db-1,db-2');
    const [lost] = await cluster.pods();
    await cluster.client.delete(PODS, cluster.target('db-0'), { gracePeriodSeconds: 0 });
    await cluster.eventually('another db-0', async () => {
      const [first] = await cluster.pods();
      return first?.metadata.name === 'db-0' && first.metadata.uid !== lost?.metadata.uid;
    });
  });
});
