import { isNotFound, type KubeObject, PODS, type Pod, REPLICA_SETS, type ReplicaSet } from '@tidegate/kube';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { timestamp } from '../../timestamp.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { replicaSetController } from './index.ts';

const labels = { app: 'web' };
const containers = [{ name: 'web', image: 'web:1' }];

const web = (replicas: number, spec: Partial<ReplicaSet['spec']> = {}): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels: { ...labels, tier: 'front' } }, spec: { containers } },
    ...spec,
  },
});

const WEBHOOKS = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  namespaced: false,
};

/** Nothing listens at this address, so no pod can be created. */
const NO_PODS = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'no-pods' },
  webhooks: [
    {
      name: 'no-pods.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/' },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
    },
  ],
};

describe('a ReplicaSet', () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.start([replicaSetController]);
  });
  afterAll(() => cluster.stop());
  beforeEach(() => cluster.useNewNamespace());

  const patch = (change: object): Promise<KubeObject> =>
    cluster.client.patch(REPLICA_SETS, cluster.target('web'), 'merge', change);

  const statusWith = (part: object): Promise<NonNullable<ReplicaSet['status']>> =>
    cluster.eventually(`a status with ${JSON.stringify(part)}`, async () => {
      const { status, metadata } = await cluster.get(REPLICA_SETS, 'web');
      const same = Object.entries(part).every(([name, value]) => Reflect.get(status ?? {}, name) === value);
      return same && status?.observedGeneration === metadata.generation && status;
    });

  const orphan = (name: string): Promise<Pod> =>
    cluster.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec: { containers } });

  it('creates exactly the wanted number of pods from its template, and counts them', async () => {
    await cluster.create(REPLICA_SETS, web(12));
    await statusWith({ replicas: 12, fullyLabeledReplicas: 12, readyReplicas: undefined });
    const pods = await cluster.pods();
    expect(pods).toHaveLength(12);
    expect(pods[0]!.metadata).toMatchObject({
      generateName: 'web-',
      labels: { app: 'web', tier: 'front' },
      ownerReferences: [{ kind: 'ReplicaSet', name: 'web', controller: true, blockOwnerDeletion: true }],
    });
    for (const pod of pods.slice(0, 5)) await cluster.reportReady(pod);
    await statusWith({ replicas: 12, readyReplicas: 5, availableReplicas: 5 });
    const created = pods.map(({ metadata }) => `Created pod: ${metadata.name}`);
    await cluster.eventually('an event', async () =>
      (await cluster.events('SuccessfulCreate')).some((message) => created.includes(message)),
    );
  });

  it('deletes the pods that can be spared best, and replaces deleted pods', async () => {
    await cluster.create(REPLICA_SETS, web(4));
    await statusWith({ replicas: 4 });
    const [first, second] = await cluster.pods();
    await cluster.reportReady(first!);
    await cluster.reportReady(second!);
    await statusWith({ readyReplicas: 2 });
    await patch({ spec: { replicas: 2 } });
    await statusWith({ replicas: 2, readyReplicas: 2 });
    expect(await cluster.pods()).toMatchObject([
      { metadata: { name: first!.metadata.name } },
      { metadata: { name: second!.metadata.name } },
    ]);
    await cluster.client.delete(PODS, cluster.target(first!.metadata.name!));
    await statusWith({ replicas: 2, readyReplicas: 1 });
    await cluster.report(second!, { phase: 'Failed' });
    await statusWith({ replicas: 2, readyReplicas: undefined });
  });

  it('adopts pods that match, and releases pods that no longer match', async () => {
    await orphan('stray');
    await cluster.create(REPLICA_SETS, web(2));
    await statusWith({ replicas: 2, fullyLabeledReplicas: 1 });
    expect((await cluster.get(PODS, 'stray')).metadata.ownerReferences).toMatchObject([{ name: 'web' }]);
    const relabel = { metadata: { labels: { app: 'other' } } };
    await cluster.client.patch(PODS, cluster.target('stray'), 'merge', relabel);
    await statusWith({ replicas: 2, fullyLabeledReplicas: 2 });
    expect((await cluster.get(PODS, 'stray')).metadata.ownerReferences).toBeUndefined();
  });

  it('deletes surplus pods that it adopts', async () => {
    await cluster.create(REPLICA_SETS, web(1));
    await statusWith({ replicas: 1 });
    const [own] = await cluster.pods();
    await cluster.reportReady(own!);
    await statusWith({ readyReplicas: 1 });
    await orphan('surplus');
    await cluster.eventually('its deletion', () =>
      cluster.get(PODS, 'surplus').then(
        () => false,
        (error) => isNotFound(error),
      ),
    );
    expect(await cluster.pods()).toMatchObject([{ metadata: { name: own!.metadata.name } }]);
  });

  it('counts a pod as available only after minReadySeconds', async () => {
    await cluster.create(REPLICA_SETS, web(1, { minReadySeconds: 3600 }));
    await statusWith({ replicas: 1 });
    const [pod] = await cluster.pods();
    await cluster.reportReady(pod!, timestamp(Date.now()));
    await statusWith({ readyReplicas: 1, availableReplicas: undefined });
    // As if the hour were almost over: the rest passes without another event.
    await cluster.reportReady(pod!, timestamp(Date.now() - 3_599_500));
    await statusWith({ readyReplicas: 1, availableReplicas: 1 });
  });

  it('reports why it cannot create its pods', async () => {
    await cluster.client.create(WEBHOOKS, NO_PODS);
    await cluster.create(REPLICA_SETS, web(2));
    const { conditions } = await cluster.eventually('the condition', async () => {
      const { status } = await cluster.get(REPLICA_SETS, 'web');
      return status?.conditions !== undefined && status;
    });
    expect(conditions).toMatchObject([{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' }]);
    expect(conditions![0]!.message).toContain('failed calling webhook "no-pods.example.com"');
    await cluster.client.delete(WEBHOOKS, { name: 'no-pods' });
    await statusWith({ replicas: 2, conditions: undefined });
  });

  it('creates nothing more while it is being deleted', async () => {
    await cluster.create(REPLICA_SETS, web(2));
    await statusWith({ replicas: 2 });
    await patch({ metadata: { finalizers: ['example.com/keep'] } });
    await cluster.client.delete(REPLICA_SETS, cluster.target('web'), { propagationPolicy: 'Background' });
    for (const pod of await cluster.pods()) {
      await cluster.client.delete(PODS, cluster.target(pod.metadata.name!));
    }
    await statusWith({ replicas: 0 });
    expect(await cluster.pods()).toEqual([]);
    await patch({ metadata: { finalizers: null } });
  });
});
