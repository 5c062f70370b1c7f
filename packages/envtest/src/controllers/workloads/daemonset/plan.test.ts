import type { DaemonSet, Node, Pod } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTerminating } from '../../pods/index.ts';
import { timestamp } from '../../timestamp.ts';
import { FailureBackoff } from './failure-backoff.ts';
import { observePlaces } from './observe.ts';
import { planDaemonSet } from './plan.ts';
import { daemonTolerations, isUpdated, newPod, targetNode } from './pods.ts';
import { daemonSetStatus } from './status.ts';

const NOW = Date.UTC(2026, 0, 1);

const daemonSet = (
  rollingUpdate: { maxUnavailable?: number | string; maxSurge?: number | string } = {},
  template: object = {},
): DaemonSet => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'default', uid: 'd', generation: 1 },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, ...rollingUpdate } },
    template: { metadata: { labels: { app: 'agent' } }, spec: { containers: [], ...template } },
  },
});

const node = (name: string, taints: { key: string; effect: string }[] = [], labels = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels },
  spec: { taints },
});

let serial = 0;
function pod(on: string, hash: string, state: 'ready' | 'unready' | 'Failed' | 'Succeeded' = 'ready'): Pod {
  const made = newPod(daemonSet(), on, hash);
  const phase = state === 'Failed' || state === 'Succeeded' ? state : 'Running';
  const since = timestamp(NOW - 60_000);
  return {
    ...made,
    metadata: { ...made.metadata, name: `p${serial++}`, uid: `p${serial}`, creationTimestamp: since },
    spec: { ...made.spec!, nodeName: on },
    status: {
      phase,
      conditions: state === 'ready' ? [{ type: 'Ready', status: 'True', lastTransitionTime: since }] : [],
    },
  };
}

const plan = (set: DaemonSet, nodes: Node[], pods: Pod[], failureWaitMs = (_: string) => 0) =>
  planDaemonSet({ ...observePlaces(set, nodes, pods), daemonSet: set, hash: 'new', now: NOW, failureWaitMs });

describe('planDaemonSet', () => {
  it('creates one pod on every node that fits', () => {
    const nodes = [
      node('a'),
      node('b', [{ key: 'dedicated', effect: 'NoSchedule' }]),
      node('c', [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }]),
      node('d', [{ key: 'dedicated', effect: 'PreferNoSchedule' }]),
    ];
    expect(plan(daemonSet(), nodes, []).creates).toEqual(['a', 'c', 'd']);
    const chosen = daemonSet({}, { nodeSelector: { disk: 'ssd' } });
    expect(plan(chosen, [node('a'), node('b', [], { disk: 'ssd' })], []).creates).toEqual(['b']);
  });

  it('keeps a pod where no new one would be created, unless a NoExecute taint evicts it', () => {
    const tainted = (effect: string) => [node('a', [{ key: 'dedicated', effect }])];
    const daemon = pod('a', 'new');
    expect(plan(daemonSet(), tainted('NoSchedule'), [daemon]).deletes).toEqual([]);
    expect(plan(daemonSet(), tainted('NoExecute'), [daemon]).deletes).toEqual([daemon]);
    const elsewhere = daemonSet({}, { nodeSelector: { disk: 'ssd' } });
    expect(plan(elsewhere, [node('a')], [daemon]).deletes).toEqual([daemon]);
  });

  it('keeps the oldest of several, and waits while one is terminating', () => {
    const first = pod('a', 'new');
    const second = pod('a', 'new');
    expect(plan(daemonSet(), [node('a')], [second, first]).deletes).toEqual([second]);
    first.metadata.deletionTimestamp = timestamp(NOW);
    expect(plan(daemonSet(), [node('a')], [first]).creates).toEqual([]);
  });

  it('replaces finished pods, with a delay after a failure', () => {
    const failed = pod('a', 'new', 'Failed');
    const now = plan(daemonSet(), [node('a')], [failed]);
    expect(now).toMatchObject({ deletes: [failed], failed: ['a'] });
    expect(now.events[0]).toMatchObject({ type: 'warning', reason: 'FailedDaemonPod' });
    expect(plan(daemonSet(), [node('a')], [failed], () => 700)).toMatchObject({
      deletes: [],
      requeueAfter: 700,
    });
    const done = pod('a', 'new', 'Succeeded');
    expect(plan(daemonSet(), [node('a')], [done]).deletes).toEqual([done]);
  });

  it('deletes pods that wait for a node that is gone', () => {
    const waiting = pod('gone', 'new');
    waiting.spec!.nodeName = undefined;
    expect(plan(daemonSet(), [], [waiting]).deletes).toEqual([waiting]);
  });

  it('replaces unavailable old pods first, and respects maxUnavailable', () => {
    const nodes = ['a', 'b', 'c', 'd'].map((name) => node(name));
    const pods = ['a', 'b', 'c'].map((name) => pod(name, 'old'));
    const broken = pod('d', 'old', 'unready');
    expect(plan(daemonSet(), nodes, [...pods, broken]).deletes).toEqual([broken]);
    expect(plan(daemonSet({ maxUnavailable: '50%' }), nodes, [...pods, broken]).deletes).toEqual([
      broken,
      pods[0],
    ]);
  });

  it('does not touch old pods with the strategy OnDelete', () => {
    const set = daemonSet();
    set.spec!.updateStrategy = { type: 'OnDelete' };
    expect(plan(set, [node('a')], [pod('a', 'old')])).toMatchObject({ creates: [], deletes: [] });
  });

  it('with maxSurge, starts the new pod first', () => {
    const set = daemonSet({ maxUnavailable: 0, maxSurge: 1 });
    const nodes = [node('a'), node('b')];
    const olds = [pod('a', 'old'), pod('b', 'old')];
    expect(plan(set, nodes, olds)).toMatchObject({ creates: ['a'], deletes: [] });
    const coming = pod('a', 'new', 'unready');
    expect(plan(set, nodes, [...olds, coming])).toMatchObject({ creates: [], deletes: [] });
    expect(plan(set, nodes, [...olds, pod('a', 'new')])).toMatchObject({ creates: [], deletes: [olds[0]] });
  });

  it('finally updates all nodes, and keeps enough pods available on the way', () => {
    const limits = fc.constantFrom(
      { maxUnavailable: 1, maxSurge: 0 },
      { maxUnavailable: 2, maxSurge: 0 },
      { maxUnavailable: '30%', maxSurge: 0 },
      { maxUnavailable: 0, maxSurge: 1 },
      { maxUnavailable: 0, maxSurge: '50%' },
    );
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 9 }), (rollingUpdate, size) => {
        const set = daemonSet(rollingUpdate);
        const nodes = Array.from({ length: size }, (_, i) => node(`n${i}`));
        let pods = nodes.map(({ metadata }) => pod(metadata.name!, 'old'));
        const { maxUnavailable } = rollingUpdate;
        const mayMiss = typeof maxUnavailable === 'string' ? Math.ceil(0.3 * size) : maxUnavailable;
        for (let step = 0; step < 4 * size + 4; step++) {
          const { creates, deletes } = plan(set, nodes, pods);
          pods = pods.filter((one) => !deletes.includes(one));
          const daemons = new Set(pods.filter(ready).map(targetNode)).size;
          expect(daemons).toBeGreaterThanOrEqual(size - mayMiss);
          // The pods created in the previous step are ready now.
          pods = pods.map((one) => (ready(one) ? one : pod(targetNode(one)!, 'new')));
          pods.push(...creates.map((name) => pod(name, 'new', 'unready')));
        }
        expect(pods).toHaveLength(size);
        expect(pods.every((one) => isUpdated(one, 'new') && !isTerminating(one))).toBe(true);
      }),
    );
  });
});

const ready = ({ status }: Pod): boolean => (status?.conditions ?? []).length > 0;

describe('newPod', () => {
  it('fits only its node, whatever condition the node is in', () => {
    const made = newPod(daemonSet({}, { affinity: { podAntiAffinity: {} } }), 'a', 'h');
    expect(targetNode(made)).toBe('a');
    expect(made.spec?.affinity?.podAntiAffinity).toEqual({});
    expect(made.metadata.labels).toEqual({ app: 'agent', 'controller-revision-hash': 'h' });
    expect(daemonTolerations({ containers: [], hostNetwork: true }).map(({ key }) => key)).toContain(
      'node.kubernetes.io/network-unavailable',
    );
    const own = {
      key: 'node.kubernetes.io/not-ready',
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 5,
    };
    expect(daemonTolerations({ containers: [], tolerations: [own] })).not.toContain(own);
  });
});

describe('daemonSetStatus', () => {
  it('counts nodes, not pods', () => {
    const nodes = [node('a'), node('b'), node('c', [{ key: 'x', effect: 'NoSchedule' }]), node('d')];
    const pods = [pod('a', 'new'), pod('a', 'old'), pod('b', 'old', 'unready'), pod('c', 'new')];
    const { places } = observePlaces(daemonSet(), nodes, pods);
    expect(daemonSetStatus(daemonSet(), places, 'new', NOW)).toEqual({
      desiredNumberScheduled: 3,
      currentNumberScheduled: 2,
      numberMisscheduled: 1,
      numberReady: 1,
      updatedNumberScheduled: 1,
      numberAvailable: 1,
      numberUnavailable: 2,
    });
  });
});

describe('FailureBackoff', () => {
  it('doubles with each failure, and is forgotten in the end', () => {
    const backoff = new FailureBackoff();
    expect(backoff.waitMs('k', NOW)).toBe(0);
    backoff.replaced('k', NOW);
    expect(backoff.waitMs('k', NOW + 400)).toBe(600);
    backoff.replaced('k', NOW + 1000);
    expect(backoff.waitMs('k', NOW + 1000)).toBe(2000);
    backoff.replaced('k', NOW + 3_600_000);
    expect(backoff.waitMs('k', NOW + 3_600_000)).toBe(1000);
  });
});
