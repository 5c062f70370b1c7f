import {
  DAEMON_SETS,
  type KubeObject,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodDisruptionBudget,
  REPLICA_SETS,
} from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { controllerReference } from '../pods/index.ts';
import { replicaSetController } from '../workloads/replicaset/index.ts';
import { TestCluster } from '../workloads/testing/test-cluster.ts';
import { disruptionController } from './index.ts';
import { assess } from './status.ts';

type Spec = NonNullable<PodDisruptionBudget['spec']>;

const labels = { app: 'web' };

const budgetOf = (spec: Spec, status?: PodDisruptionBudget['status']): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web' },
  spec: { selector: { matchLabels: labels }, ...spec },
  ...(status === undefined ? {} : { status }),
});

const podOf = (name: string, ready = true): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: { containers: [{ name: 'web', image: 'web:1' }] },
  status: { phase: 'Running', conditions: ready ? [{ type: 'Ready', status: 'True' }] : [] },
});

const ready = (count: number): Pod[] => Array.from({ length: count }, (_, i) => podOf(`web-${i}`));

describe('the status of a PodDisruptionBudget', () => {
  const now = Date.UTC(2026, 0, 1);

  it.each<[Spec, number, number, number]>([
    [{ minAvailable: 2 }, 3, 2, 1],
    [{ minAvailable: '50%' }, 3, 2, 1],
    [{ maxUnavailable: 1 }, 3, 2, 1],
    [{ maxUnavailable: '50%' }, 3, 1, 2],
    [{ maxUnavailable: 5 }, 3, 0, 3],
    [{ minAvailable: 4 }, 3, 4, 0],
    [{ minAvailable: 0 }, 0, 0, 0],
  ])('allows the right number for %j of %i pods', (spec, count, desiredHealthy, disruptionsAllowed) => {
    const { status } = assess(budgetOf(spec), ready(count), count, now);
    expect(status).toMatchObject({ currentHealthy: count, desiredHealthy, disruptionsAllowed });
    expect(status.conditions).toMatchObject([
      disruptionsAllowed > 0
        ? { type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods' }
        : { type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' },
    ]);
  });

  it('does not count pods whose eviction was granted, until the eviction times out', () => {
    const granted = '2026-01-01T00:00:00Z';
    const disrupted = { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };
    const budget = budgetOf(
      { minAvailable: 1 },
      { ...disrupted, disruptedPods: { 'web-0': granted, 'long-gone': granted } },
    );
    const soon = assess(budget, ready(3), 3, now + 30_000);
    expect(soon.status).toMatchObject({ currentHealthy: 2, disruptedPods: { 'web-0': granted } });
    expect(Object.keys(soon.status.disruptedPods!)).toEqual(['web-0']);
    expect(soon.recheckInMs).toBe(90_000);
    const late = assess(budget, ready(3), 3, now + 120_000);
    expect(late.status).toMatchObject({ currentHealthy: 3, disruptedPods: undefined });
    expect(late.notDeleted.map(({ metadata }) => metadata.name)).toEqual(['web-0']);
  });
});

describe('the disruption controller', () => {
  let cluster: TestCluster;

  beforeEach(async () => {
    cluster = await TestCluster.start([disruptionController, replicaSetController]);
  });

  afterEach(() => cluster.stop());

  const makePods = (replicas: number): Promise<KubeObject> =>
    cluster.create(REPLICA_SETS, {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'web' },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
      },
    });

  const statusWith = (part: Partial<PodDisruptionBudget['status']>): Promise<unknown> =>
    cluster.runPods(`a status with ${JSON.stringify(part)}`, async () => {
      const { status } = await cluster.get(POD_DISRUPTION_BUDGETS, 'web');
      return Object.entries(part ?? {}).every(([name, value]) => Reflect.get(status ?? {}, name) === value);
    });

  const evict = ({ metadata: { name } }: Pod): Promise<KubeObject> => {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } };
    return cluster.client.create(PODS, eviction, { namespace: 'default', subresource: 'eviction' });
  };

  it('allows evictions while enough pods are healthy', async () => {
    await cluster.create(POD_DISRUPTION_BUDGETS, budgetOf({ maxUnavailable: 1 }));
    await makePods(3);
    await statusWith({ currentHealthy: 3, expectedPods: 3, desiredHealthy: 2, disruptionsAllowed: 1 });
    const [first, second] = await cluster.pods();
    await evict(first!);
    await expect(evict(second!)).rejects.toMatchObject({ code: 429 });
    await statusWith({ currentHealthy: 3, disruptionsAllowed: 1, disruptedPods: undefined });
    await evict(second!);
  });

  it('allows no eviction when the expected number of pods is unknown', async () => {
    const { status: _, ...pod } = podOf('web');
    const daemon = await cluster.create(DAEMON_SETS, {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'web' },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod.spec } },
    });
    const ownerReferences = [controllerReference(daemon)];
    await cluster.create(PODS, { ...pod, metadata: { ...pod.metadata, ownerReferences } });
    await cluster.create(POD_DISRUPTION_BUDGETS, budgetOf({ maxUnavailable: 1 }));
    await cluster.eventually('the reason', async () => {
      const { status } = await cluster.get(POD_DISRUPTION_BUDGETS, 'web');
      const { reason, message } = status?.conditions?.[0] ?? {};
      return (
        reason === 'SyncFailed' && message === 'daemonsets.apps does not implement the scale subresource'
      );
    });
  });
});
