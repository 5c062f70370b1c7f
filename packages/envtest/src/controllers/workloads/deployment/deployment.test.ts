import {
  DEPLOYMENTS,
  type Deployment,
  type KubeObject,
  PODS,
  REPLICA_SETS,
  type ReplicaSet,
} from '@tidegate/kube';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { replicaSetController } from '../replicaset/index.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { DESIRED_REPLICAS, MAX_REPLICAS, REVISION, REVISION_HISTORY } from './annotations.ts';
import { deploymentController } from './index.ts';
import { POD_TEMPLATE_HASH } from './template.ts';

function web(spec: Partial<Deployment['spec']> = {}): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'web:1' }] },
      },
      ...spec,
    },
  };
}

describe('a Deployment', () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.start([deploymentController, replicaSetController]);
  });
  afterAll(() => cluster.stop());
  beforeEach(() => cluster.useNewNamespace());

  const patch = (change: object): Promise<KubeObject> =>
    cluster.client.patch(DEPLOYMENTS, cluster.target('web'), 'strategic', change);

  const useImage = (image: string): Promise<KubeObject> =>
    patch({ spec: { template: { spec: { containers: [{ name: 'web', image }] } } } });

  const imageOf = ({ spec }: ReplicaSet): string | undefined => spec?.template?.spec?.containers[0]?.image;

  const replicaSet = async (image: string): Promise<ReplicaSet | undefined> =>
    (await cluster.list(REPLICA_SETS)).find((candidate) => imageOf(candidate) === image);

  const conditionOf = ({ status }: Deployment, type: string) =>
    status?.conditions?.find((condition) => condition.type === type);

  /** Waits until every pod is ready and has this image. */
  const rolledOut = (image: string): Promise<Deployment> =>
    cluster.runPods(`the rollout of ${image}`, async () => {
      const deployment = await cluster.get(DEPLOYMENTS, 'web');
      const { generation } = deployment.metadata;
      const { observedGeneration, updatedReplicas, replicas, availableReplicas } = deployment.status ?? {};
      const wanted = deployment.spec?.replicas;
      const current = deployment.spec?.template?.spec?.containers[0]?.image === image;
      return (
        current &&
        observedGeneration === generation &&
        [updatedReplicas, replicas, availableReplicas].every((count) => count === wanted) &&
        conditionOf(deployment, 'Progressing')?.reason === 'NewReplicaSetAvailable' &&
        deployment
      );
    });

  it('creates a ReplicaSet for its template, and reports when it is complete', async () => {
    await cluster.create(DEPLOYMENTS, web({ minReadySeconds: 1 }));
    const deployment = await rolledOut('web:1');
    const { name, labels, annotations, ownerReferences } = (await replicaSet('web:1'))!.metadata;
    const hash = labels?.[POD_TEMPLATE_HASH];
    expect(name).toBe(`web-${hash}`);
    expect(annotations).toMatchObject({ [REVISION]: '1', [DESIRED_REPLICAS]: '3', [MAX_REPLICAS]: '4' });
    expect(ownerReferences).toMatchObject([{ kind: 'Deployment', name: 'web', controller: true }]);
    expect((await cluster.pods()).map(({ metadata }) => metadata.labels)).toEqual(
      Array(3).fill({ app: 'web', [POD_TEMPLATE_HASH]: hash }),
    );
    expect(deployment.metadata.annotations?.[REVISION]).toBe('1');
    expect(conditionOf(deployment, 'Available')).toMatchObject({
      status: 'True',
      reason: 'MinimumReplicasAvailable',
    });
    expect(conditionOf(deployment, 'Progressing')).toMatchObject({
      status: 'True',
      message: `ReplicaSet "${name}" has successfully progressed.`,
    });
    expect(deployment.status).toMatchObject({ readyReplicas: 3, terminatingReplicas: 0 });
    expect(deployment.status?.unavailableReplicas).toBeUndefined();
    await cluster.eventually('the event', async () =>
      (await cluster.events('ScalingReplicaSet')).includes(`Scaled up replica set ${name} from 0 to 3`),
    );
  });

  it('rolls out a new template, and rolls back to an old one', async () => {
    await cluster.create(DEPLOYMENTS, web());
    await rolledOut('web:1');
    await useImage('web:2');
    expect((await rolledOut('web:2')).metadata.annotations?.[REVISION]).toBe('2');
    expect((await replicaSet('web:1'))?.spec?.replicas).toBe(0);
    await useImage('web:1');
    expect((await rolledOut('web:1')).metadata.annotations?.[REVISION]).toBe('3');
    expect((await replicaSet('web:1'))?.metadata.annotations).toMatchObject({
      [REVISION]: '3',
      [REVISION_HISTORY]: '1',
    });
    expect(await cluster.list(REPLICA_SETS)).toHaveLength(2);
  });

  it('keeps enough pods available while the new pods do not become ready', async () => {
    await cluster.create(DEPLOYMENTS, web({ replicas: 4, progressDeadlineSeconds: 1 }));
    await rolledOut('web:1');
    await useImage('web:2');
    const stuck = await cluster.eventually('the deadline', async () => {
      const deployment = await cluster.get(DEPLOYMENTS, 'web');
      return conditionOf(deployment, 'Progressing')?.reason === 'ProgressDeadlineExceeded' && deployment;
    });
    expect((await replicaSet('web:1'))?.spec?.replicas).toBe(3);
    expect((await replicaSet('web:2'))?.spec?.replicas).toBe(2);
    expect(stuck.status).toMatchObject({ availableReplicas: 3, updatedReplicas: 2, unavailableReplicas: 2 });
    expect(conditionOf(stuck, 'Progressing')).toMatchObject({ status: 'False' });
    await useImage('web:1');
    await rolledOut('web:1');
  });

  it('scales all ReplicaSets in proportion during a rollout', async () => {
    await cluster.create(DEPLOYMENTS, web({ replicas: 8 }));
    await rolledOut('web:1');
    await useImage('web:2');
    const sizes = async (): Promise<(number | undefined)[]> => [
      (await replicaSet('web:1'))?.spec?.replicas,
      (await replicaSet('web:2'))?.spec?.replicas,
    ];
    await cluster.eventually('the first step', async () => String(await sizes()) === '6,4');
    await patch({ spec: { replicas: 16 } });
    await cluster.eventually('the larger size', async () => String(await sizes()) === '12,8');
  });

  it('while paused, follows its size but not its template', async () => {
    await cluster.create(DEPLOYMENTS, web());
    await rolledOut('web:1');
    await patch({ spec: { paused: true } });
    await useImage('web:2');
    await patch({ spec: { replicas: 5 } });
    await cluster.runPods('five old pods', async () => {
      const deployment = await cluster.get(DEPLOYMENTS, 'web');
      return (
        deployment.status?.availableReplicas === 5 &&
        conditionOf(deployment, 'Progressing')?.reason === 'DeploymentPaused'
      );
    });
    expect(await replicaSet('web:2')).toBeUndefined();
    await patch({ spec: { paused: false } });
    await rolledOut('web:2');
  });

  it('with Recreate, creates no new pod before the last old one has ended', async () => {
    await cluster.create(DEPLOYMENTS, web({ strategy: { type: 'Recreate' } }));
    await rolledOut('web:1');
    const [pod] = await cluster.pods();
    // A finalizer holds the pod, like a slow kubelet.
    const target = cluster.target(pod!.metadata.name!);
    await cluster.client.patch(PODS, target, 'merge', { metadata: { finalizers: ['example.com/slow'] } });
    await useImage('web:2');
    await cluster.runPods('the old pods are deleted', async () => (await cluster.pods()).length === 0);
    await cluster.runPods('only the slow pod is left', async () => (await cluster.list(PODS)).length === 1);
    expect(await replicaSet('web:2')).toBeUndefined();
    await cluster.client.patch(PODS, target, 'merge', { metadata: { finalizers: null } });
    await rolledOut('web:2');
  });

  it('keeps as many old ReplicaSets as revisionHistoryLimit allows', async () => {
    await cluster.create(DEPLOYMENTS, web({ replicas: 1, revisionHistoryLimit: 1 }));
    for (const image of ['web:1', 'web:2', 'web:3']) {
      if (image !== 'web:1') await useImage(image);
      await rolledOut(image);
    }
    await cluster.eventually(
      'the oldest one is deleted',
      async () => (await replicaSet('web:1')) === undefined,
    );
    expect((await cluster.list(REPLICA_SETS)).map(imageOf).toSorted()).toEqual(['web:2', 'web:3']);
  });

  it('adopts a ReplicaSet that matches, and uses another name when its own is taken', async () => {
    await cluster.create(DEPLOYMENTS, web({ replicas: 1 }));
    await rolledOut('web:1');
    const first = (await replicaSet('web:1'))!;
    await cluster.client.delete(DEPLOYMENTS, cluster.target('web'), { propagationPolicy: 'Orphan' });
    const { name = '', labels } = first.metadata;
    await cluster.eventually('the ReplicaSet without its Deployment', async () => {
      const gone = (await cluster.list(DEPLOYMENTS)).length === 0;
      return gone && (await replicaSet('web:1'))?.metadata.ownerReferences === undefined;
    });
    await cluster.create(DEPLOYMENTS, web({ replicas: 2 }));
    await rolledOut('web:1');
    expect((await cluster.list(REPLICA_SETS)).map(({ metadata }) => metadata.name)).toEqual([name]);

    await cluster.client.delete(DEPLOYMENTS, cluster.target('web'), { propagationPolicy: 'Background' });
    await cluster.runPods('nothing is left', async () => (await cluster.list(REPLICA_SETS)).length === 0);
    const stranger = { app: 'stranger', [POD_TEMPLATE_HASH]: labels![POD_TEMPLATE_HASH]! };
    await cluster.create(REPLICA_SETS, {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name },
      spec: {
        replicas: 0,
        selector: { matchLabels: stranger },
        template: { metadata: { labels: stranger }, spec: first.spec!.template!.spec },
      },
    });
    await cluster.create(DEPLOYMENTS, web({ replicas: 1 }));
    expect((await rolledOut('web:1')).status?.collisionCount).toBe(1);
  });

  it('releases a ReplicaSet that no longer matches', async () => {
    await cluster.create(DEPLOYMENTS, web({ replicas: 1 }));
    await rolledOut('web:1');
    const { name = '' } = (await replicaSet('web:1'))!.metadata;
    const relabel = { metadata: { labels: { app: 'other' } } };
    await cluster.client.patch(REPLICA_SETS, cluster.target(name), 'merge', relabel);
    await cluster.eventually('the release', async () => {
      const released = (await cluster.list(REPLICA_SETS)).find(({ metadata }) => metadata.name === name);
      return released?.metadata.ownerReferences === undefined;
    });
  });
});
