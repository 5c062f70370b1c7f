import type { ControllerRevision, Pod, StatefulSet } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timestamp } from '../../timestamp.ts';
import { newRevision } from '../revisions/revision.ts';
import { newPod, ordinalOf, revisionOf } from './identity.ts';
import { planStatefulSet } from './plan.ts';
import { statefulSetStatus } from './status.ts';

const NOW = Date.UTC(2026, 0, 1);

const statefulSet = (spec: Partial<NonNullable<StatefulSet['spec']>> = {}, image = 'one'): StatefulSet => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db', namespace: 'default', uid: 's' },
  spec: {
    serviceName: 'db',
    replicas: 3,
    selector: { matchLabels: { app: 'db' } },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    template: { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'c', image }] } },
    ...spec,
  },
});

const revision = (image: string): ControllerRevision =>
  newRevision(statefulSet({}, image), 'hash', image === 'one' ? 1 : 2, 0);
const ONE = revision('one');
const TWO = revision('two');

type State = 'ready' | 'unready' | 'Pending' | 'Failed' | 'terminating';

function pod(ordinal: number, state: State = 'ready', of = ONE): Pod {
  const made = newPod(statefulSet(), ordinal, of);
  const phase = state === 'Pending' || state === 'Failed' ? state : 'Running';
  const conditions =
    state === 'ready' ? [{ type: 'Ready', status: 'True', lastTransitionTime: timestamp(0) }] : [];
  const deletionTimestamp = state === 'terminating' ? timestamp(NOW) : undefined;
  return {
    ...made,
    metadata: { ...made.metadata, uid: `${ordinal}`, deletionTimestamp },
    status: { phase, conditions },
  };
}

const plan = (set: StatefulSet, pods: Pod[], update = ONE, current = ONE) => {
  const { creates, deletes } = planStatefulSet({ set, pods, current, update, now: NOW });
  return {
    creates: creates.map(({ ordinal, revision }) => `${ordinal} ${revision === ONE ? 'one' : 'two'}`),
    deletes: deletes.map(({ metadata }) => metadata.name),
  };
};
const nothing = { creates: [], deletes: [] };
const creating = (...creates: string[]) => ({ creates, deletes: [] });
const deleting = (...deletes: string[]) => ({ creates: [], deletes });

describe('planStatefulSet', () => {
  it('plans two billion replicas in steps', () => {
    const huge = statefulSet({ replicas: 2 ** 31 - 1 });
    expect(plan(huge, [pod(0)])).toEqual(creating('1 one'));
    const inParallel = statefulSet({ replicas: 2 ** 31 - 1, podManagementPolicy: 'Parallel' });
    const { creates, deletes } = plan(inParallel, [pod(0), pod(1_000_000)]);
    expect([creates.length, creates[0], deletes]).toEqual([500, '1 one', []]);
  });

  it('creates pods in order, each when the pods before it are ready', () => {
    expect(plan(statefulSet(), [])).toEqual(creating('0 one'));
    expect(plan(statefulSet(), [pod(0, 'Pending')])).toEqual(nothing);
    expect(plan(statefulSet(), [pod(0, 'unready')])).toEqual(nothing);
    expect(plan(statefulSet(), [pod(0)])).toEqual(creating('1 one'));
    expect(plan(statefulSet(), [pod(1), pod(2)])).toEqual(creating('0 one'));
  });

  it('starts at the configured ordinal', () => {
    const set = statefulSet({ ordinals: { start: 5 }, replicas: 2 });
    expect(plan(set, [])).toEqual(creating('5 one'));
    expect(plan(set, [pod(5), pod(6), pod(0)])).toEqual(deleting('db-0'));
  });

  it('waits until a pod is available', () => {
    const soon = pod(0);
    soon.status!.conditions![0]!.lastTransitionTime = timestamp(NOW - 5000);
    expect(plan(statefulSet({ minReadySeconds: 10 }), [soon])).toEqual(nothing);
    expect(plan(statefulSet({ minReadySeconds: 5 }), [soon])).toEqual(creating('1 one'));
  });

  it('replaces finished pods', () => {
    expect(plan(statefulSet(), [pod(0), pod(1, 'Failed')])).toEqual(deleting('db-1'));
  });

  it('scales down from the highest ordinal, one at a time', () => {
    const set = statefulSet({ replicas: 1 });
    expect(plan(set, [pod(0), pod(1), pod(2)])).toEqual(deleting('db-2'));
    expect(plan(set, [pod(0), pod(1), pod(2, 'terminating')])).toEqual(nothing);
    expect(plan(set, [pod(0), pod(1), pod(2, 'unready')])).toEqual(deleting('db-2'));
    expect(plan(set, [pod(0), pod(1, 'unready'), pod(2, 'unready')])).toEqual(nothing);
    expect(plan(set, [pod(0, 'unready'), pod(1)])).toEqual(nothing);
  });

  it('with Parallel, makes all changes at once', () => {
    const set = statefulSet({ podManagementPolicy: 'Parallel' });
    expect(plan(set, [])).toEqual(creating('0 one', '1 one', '2 one'));
    const shrunk = statefulSet({ podManagementPolicy: 'Parallel', replicas: 1 });
    expect(plan(shrunk, [pod(0, 'Failed'), pod(1), pod(2, 'unready')])).toEqual(
      deleting('db-0', 'db-2', 'db-1'),
    );
  });

  it('rolls out from the highest ordinal down to the partition', () => {
    const pods = [pod(0), pod(1), pod(2)];
    expect(plan(statefulSet(), pods, TWO)).toEqual(deleting('db-2'));
    expect(plan(statefulSet(), [pod(0), pod(1)], TWO)).toEqual(creating('2 two'));
    expect(plan(statefulSet(), [pod(0), pod(1), pod(2, 'unready', TWO)], TWO)).toEqual(nothing);
    expect(plan(statefulSet(), [pod(0), pod(1), pod(2, 'ready', TWO)], TWO)).toEqual(deleting('db-1'));
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 2 } };
    const canary = statefulSet({ updateStrategy });
    expect(plan(canary, [pod(0), pod(1), pod(2, 'ready', TWO)], TWO)).toEqual(nothing);
    expect(plan(canary, [pod(1), pod(2, 'ready', TWO)], TWO)).toEqual(creating('0 one'));
  });

  it('with OnDelete, updates only pods that are deleted', () => {
    const set = statefulSet({ updateStrategy: { type: 'OnDelete' } });
    expect(plan(set, [pod(0), pod(1), pod(2)], TWO)).toEqual(nothing);
    expect(plan(set, [pod(0), pod(1)], TWO)).toEqual(creating('2 two'));
  });

  it('in order, never creates a pod while one before it is not ready, and completes in the end', () => {
    const trouble = fc.record({ ordinal: fc.nat(5), state: fc.constantFrom<State>('unready', 'Failed') });
    const sizes = fc.integer({ min: 0, max: 5 });
    fc.assert(
      fc.property(sizes, sizes, fc.array(trouble, { maxLength: 12 }), (before, replicas, troubles) => {
        const set = statefulSet({ replicas });
        let pods = Array.from({ length: before }, (_, i) => pod(i));
        const queue = [...troubles];
        for (let step = 0; step < 80; step++) {
          const next = queue.shift();
          if (next !== undefined) {
            const hit = ({ ordinal, state }: typeof next, one: Pod): Pod =>
              ordinalOf(set, one) === ordinal ? pod(ordinal, state) : one;
            pods = pods.map((one) => hit(next, one));
          }
          const { creates, deletes } = planStatefulSet({ set, pods, current: ONE, update: TWO, now: NOW });
          expect(creates.length + deletes.length).toBeLessThanOrEqual(1);
          for (const { ordinal } of creates) {
            for (let i = 0; i < ordinal; i++) {
              const earlier = pods.find((one) => ordinalOf(set, one) === i);
              expect(earlier?.status?.conditions).toHaveLength(1);
            }
          }
          // Created pods are ready at the next step, and failed pods recover after that.
          pods = pods
            .filter((one) => !deletes.includes(one))
            .map((one) =>
              queue.length === 0 && one.status?.phase === 'Running' ? { ...one, ...ready } : one,
            );
          pods.push(...creates.map(({ ordinal, revision }) => pod(ordinal, 'ready', revision)));
        }
        expect(pods.map((one) => ordinalOf(set, one)).toSorted()).toEqual([...Array(replicas).keys()]);
        expect(pods.every((one) => revisionOf(one) === TWO.metadata.name)).toBe(true);
      }),
    );
  });
});

const ready = { status: pod(0).status };

describe('statefulSetStatus', () => {
  const status = (set: StatefulSet, pods: Pod[]) =>
    statefulSetStatus({ set, pods, current: ONE, update: TWO, now: NOW });

  it('counts by revision during a rollout', () => {
    expect(status(statefulSet(), [pod(0), pod(1, 'unready'), pod(2, 'ready', TWO)])).toEqual({
      replicas: 3,
      readyReplicas: 2,
      availableReplicas: 2,
      currentReplicas: 2,
      updatedReplicas: 1,
      currentRevision: ONE.metadata.name,
      updateRevision: TWO.metadata.name,
    });
  });

  it('makes the new revision current when all pods have it', () => {
    const pods = [0, 1, 2].map((ordinal) => pod(ordinal, 'ready', TWO));
    expect(status(statefulSet(), pods)).toMatchObject({
      currentReplicas: 3,
      currentRevision: TWO.metadata.name,
    });
  });
});

describe('newPod', () => {
  it('has its own name, host name and volumes', () => {
    const data = { metadata: { name: 'data' }, spec: {} };
    const made = newPod(statefulSet({ volumeClaimTemplates: [data] }), 2, ONE);
    expect(made.metadata).toMatchObject({
      name: 'db-2',
      labels: {
        app: 'db',
        'statefulset.kubernetes.io/pod-name': 'db-2',
        'apps.kubernetes.io/pod-index': '2',
        'controller-revision-hash': ONE.metadata.name,
      },
    });
    expect(made.spec).toMatchObject({
      hostname: 'db-2',
      subdomain: 'db',
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-db-2' } }],
    });
  });

  it('recognizes its pods by their names', () => {
    const named = (name: string): Pod => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name } });
    expect(ordinalOf(statefulSet(), named('db-10'))).toBe(10);
    for (const name of ['db', 'db-', 'db-x', 'db-01', 'other-1']) {
      expect(ordinalOf(statefulSet(), named(name))).toBeUndefined();
    }
  });
});
