import {
  type KubeObject,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
  STATEFUL_SETS,
  STORAGE_CLASSES,
} from '@tidegate/kube';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { schedulerController } from '../scheduler/index.ts';
import { statefulSetController } from '../workloads/statefulset/index.ts';
import { TestCluster } from '../workloads/testing/test-cluster.ts';
import { claimController, storageClassController, volumeController } from './index.ts';

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await TestCluster.start([
    storageClassController,
    claimController,
    volumeController,
    schedulerController,
    statefulSetController,
  ]);
  await cluster.eventually('the storage class', async () =>
    (await cluster.list(STORAGE_CLASSES)).some(({ metadata }) => metadata.name === 'local-path'),
  );
  for (const name of ['node-a', 'node-b']) {
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    };
    await cluster.client.create(NODES, node);
    const status = { allocatable: { cpu: '4', memory: '8Gi', pods: '10' } };
    await cluster.client.patch(NODES, { name, subresource: 'status' }, 'merge', { status });
    // The node controllers would remove it.
    await cluster.client.patch(NODES, { name }, 'merge', { spec: { taints: null } });
  }
});
afterAll(() => cluster.stop());
beforeEach(() => cluster.useNewNamespace());

const claim = (name: string, spec: object = {}): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});

const volume = (name: string, storage: string, more: object = {}): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage },
    storageClassName: 'manual',
    hostPath: { path: '/data' },
    ...more,
  },
});

const podOf = (name: string, claimName: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'web', image: 'web', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
  },
});

const phaseOf = async (name: string): Promise<string | undefined> =>
  (await cluster.get(PERSISTENT_VOLUME_CLAIMS, name)).status?.phase;

it('provisions a volume on the node of the first pod, and deletes it with the claim', async () => {
  const created = await cluster.create(PERSISTENT_VOLUME_CLAIMS, claim('data'));
  expect(created.spec?.storageClassName).toBe('local-path');
  await cluster.eventually(
    'the event',
    async () => (await cluster.events('WaitForFirstConsumer')).length > 0,
  );
  expect(await phaseOf('data')).toBe('Pending');

  await cluster.create(PODS, podOf('web', 'data'));
  const pod = await cluster.eventually('a node', async () => {
    const found = await cluster.get(PODS, 'web');
    return found.spec?.nodeName ? found : undefined;
  });
  const name = `pvc-${created.metadata.uid}`;
  const { spec } = await cluster.client.get(PERSISTENT_VOLUMES, { name });
  expect(spec?.claimRef).toMatchObject({ name: 'data', uid: created.metadata.uid });
  expect(spec?.nodeAffinity?.required?.nodeSelectorTerms).toEqual([
    { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [pod.spec?.nodeName] }] },
  ]);
  expect((await cluster.get(PERSISTENT_VOLUME_CLAIMS, 'data')).status).toMatchObject({
    phase: 'Bound',
    capacity: { storage: '1Gi' },
  });

  // The claim is kept while the pod uses it.
  await cluster.client.delete(PERSISTENT_VOLUME_CLAIMS, cluster.target('data'));
  expect((await cluster.get(PERSISTENT_VOLUME_CLAIMS, 'data')).metadata.deletionTimestamp).toBeDefined();
  await cluster.client.delete(PODS, cluster.target('web'));
  await cluster.eventually('no volume', async () => {
    const { items } = await cluster.client.list(PERSISTENT_VOLUMES);
    return !items.some(({ metadata }) => metadata.name === name);
  });
});

it('binds the smallest volume that satisfies a claim, and keeps it when the claim is deleted', async () => {
  await cluster.client.create(PERSISTENT_VOLUMES, volume('big', '100Gi'));
  await cluster.client.create(PERSISTENT_VOLUMES, volume('fitting', '2Gi'));
  await cluster.client.create(PERSISTENT_VOLUMES, volume('small', '500Mi'));
  await cluster.create(PERSISTENT_VOLUME_CLAIMS, claim('data', { storageClassName: 'manual' }));
  await cluster.eventually('bound', async () => (await phaseOf('data')) === 'Bound');
  const bound = await cluster.get(PERSISTENT_VOLUME_CLAIMS, 'data');
  expect(bound.spec?.volumeName).toBe('fitting');
  expect(bound.status?.capacity).toEqual({ storage: '2Gi' });
  await cluster.client.delete(PERSISTENT_VOLUME_CLAIMS, cluster.target('data'));
  await cluster.eventually('released', async () => {
    const { status } = await cluster.client.get(PERSISTENT_VOLUMES, { name: 'fitting' });
    return status?.phase === 'Released';
  });
});

it('reports why a pod with a claim waits, and schedules it when the claim is bound', async () => {
  await cluster.create(PODS, podOf('web', 'later'));
  const messageOf = async (): Promise<string> => {
    const { status } = await cluster.get(PODS, 'web');
    return status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? '';
  };
  await cluster.eventually('the reason', async () =>
    (await messageOf()).includes('persistentvolumeclaim "later" not found'),
  );
  await cluster.create(PERSISTENT_VOLUME_CLAIMS, claim('later', { storageClassName: 'other' }));
  await cluster.eventually('the other reason', async () =>
    (await messageOf()).includes('pod has unbound immediate PersistentVolumeClaims'),
  );
  await cluster.client.create(PERSISTENT_VOLUMES, volume('other', '1Gi', { storageClassName: 'other' }));
  await cluster.eventually('a node', async () => (await cluster.get(PODS, 'web')).spec?.nodeName);
});

it('expands a claim of the local-path class', async () => {
  await cluster.create(PERSISTENT_VOLUME_CLAIMS, claim('data'));
  await cluster.create(PODS, podOf('web', 'data'));
  await cluster.eventually('bound', async () => (await phaseOf('data')) === 'Bound');
  await cluster.client.patch(PERSISTENT_VOLUME_CLAIMS, cluster.target('data'), 'merge', {
    spec: { resources: { requests: { storage: '5Gi' } } },
  });
  await cluster.eventually('the capacity', async () => {
    const { status } = await cluster.get(PERSISTENT_VOLUME_CLAIMS, 'data');
    return status?.capacity?.storage === '5Gi';
  });
});

it('keeps the claims of a StatefulSet, and deletes those of removed pods if the set asks for it', async () => {
  await cluster.create(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db' },
    spec: {
      replicas: 2,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: { app: 'db' } },
      serviceName: 'db',
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Delete' },
      template: {
        metadata: { labels: { app: 'db' } },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'db', image: 'db', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
        },
      },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim('data').spec }],
    },
  });
  const claims = async (): Promise<string> => {
    const { items } = await cluster.client.list(PERSISTENT_VOLUME_CLAIMS, { namespace: cluster.namespace });
    return items.map(({ metadata }) => metadata.name).join();
  };
  await cluster.eventually('both claims', async () => (await claims()) === 'data-db-0,data-db-1');
  await cluster.eventually(
    'both pods',
    async () => (await cluster.pods()).filter(({ spec }) => spec?.nodeName).length === 2,
  );
  await cluster.client.patch(STATEFUL_SETS, cluster.target('db'), 'merge', { spec: { replicas: 1 } });
  await cluster.eventually('one claim', async () => (await claims()) === 'data-db-0');
});

it('removes a volume that was deleted while it was bound once its claim is gone', async () => {
  const name = `${cluster.namespace}-deleted`;
  await cluster.client.create(PERSISTENT_VOLUMES, volume(name, '1Gi', { storageClassName: 'deleted' }));
  await cluster.create(PERSISTENT_VOLUME_CLAIMS, claim('data', { storageClassName: 'deleted' }));
  await cluster.eventually('a bound volume', async () => {
    const { status } = await cluster.client.get(PERSISTENT_VOLUMES, { name });
    return status?.phase === 'Bound' && (await phaseOf('data')) === 'Bound';
  });
  await cluster.client.delete(PERSISTENT_VOLUMES, { name });
  expect((await cluster.client.get(PERSISTENT_VOLUMES, { name })).metadata.deletionTimestamp).toBeDefined();
  await cluster.client.delete(PERSISTENT_VOLUME_CLAIMS, cluster.target('data'));
  await cluster.eventually('no volume', async () =>
    (await cluster.list(PERSISTENT_VOLUMES)).every(({ metadata }) => metadata.name !== name),
  );
});
