import type { Deployment, Pod, ReplicaSet } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitsOf } from './limits.ts';
import { plan, type ReplicaSetChange } from './plan.ts';
import { rolloutOf, sizeOf } from './rollout.ts';
import { deploymentStatus } from './status.ts';

type IntOrPercent = number | string;

function deploymentOf(replicas: number, maxSurge: IntOrPercent, maxUnavailable: IntOrPercent): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default', uid: 'web', generation: 1 },
    spec: {
      replicas,
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 2,
      selector: { matchLabels: { app: 'web' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'web:0' }] },
      },
    },
  };
}

/** A Deployment with ReplicaSets whose controller and kubelets act only when the test lets them. */
class World {
  deployment: Deployment;
  readonly replicaSets = new Map<string, ReplicaSet>();
  /** By ReplicaSet name, the availability of each of its pods. */
  readonly pods = new Map<string, boolean[]>();
  #clock = Date.UTC(2026, 0, 1);

  constructor(deployment: Deployment) {
    this.deployment = deployment;
  }

  change(spec: Partial<NonNullable<Deployment['spec']>>): void {
    const { metadata } = this.deployment;
    this.deployment = {
      ...this.deployment,
      metadata: { ...metadata, generation: metadata.generation! + 1 },
      spec: { ...this.deployment.spec!, ...spec },
    };
  }

  useImage(version: number): void {
    const { template } = this.deployment.spec!;
    const containers = [{ name: 'web', image: `web:${version}` }];
    this.change({ template: { ...template, spec: { ...template.spec, containers } } });
  }

  /** One reconcile of the Deployment. */
  reconcile(): ReplicaSetChange[] {
    this.#clock += 1000;
    const rollout = rolloutOf(this.deployment, [...this.replicaSets.values()]);
    const oldPods = rollout.old.flatMap(({ metadata }) => this.pods.get(metadata.name!)!).map(() => RUNNING);
    const actions = plan(rollout, oldPods);
    for (const action of actions) this.#perform(action);
    const status = deploymentStatus(
      rolloutOf(this.deployment, [...this.replicaSets.values()]),
      {},
      this.#clock,
    );
    this.deployment = { ...this.deployment, status };
    return actions;
  }

  /** One reconcile of a ReplicaSet. */
  sync(name: string): void {
    this.act(name);
    const pods = this.pods.get(name)!;
    const replicaSet = this.replicaSets.get(name)!;
    const available = pods.filter(Boolean).length;
    this.replicaSets.set(name, {
      ...replicaSet,
      status: {
        replicas: pods.length,
        readyReplicas: available,
        availableReplicas: available,
        observedGeneration: replicaSet.metadata.generation,
      },
    });
  }

  /** The first half of that reconcile, before the status is written. Unavailable pods are deleted first. */
  act(name: string): void {
    const pods = this.pods.get(name)!.toSorted((a, b) => Number(a) - Number(b));
    const size = sizeOf(this.replicaSets.get(name));
    const missing = Array<boolean>(Math.max(0, size - pods.length)).fill(false);
    this.pods.set(name, [...pods.slice(Math.max(0, pods.length - size)), ...missing]);
  }

  bringUp(name: string): void {
    const [first, ...rest] = this.pods.get(name)!.toSorted((a, b) => Number(a) - Number(b));
    if (first !== undefined) this.pods.set(name, [true, ...rest]);
  }

  fail(name: string): void {
    const [first, ...rest] = this.pods.get(name)!.toSorted((a, b) => Number(b) - Number(a));
    if (first !== undefined) this.pods.set(name, [false, ...rest]);
  }

  /** Lets all controllers act until nothing changes any more. */
  settle(): void {
    for (let round = 0; round < 300; round++) {
      const before = this.#everything();
      this.reconcile();
      for (const name of this.replicaSets.keys()) {
        for (const _ of this.pods.get(name)!) this.bringUp(name);
        this.sync(name);
      }
      if (before === this.#everything()) return;
    }
    throw new Error(`the rollout does not settle: ${JSON.stringify(this.sizes())}`);
  }

  sizes(): number[] {
    return [...this.replicaSets.values()].map(sizeOf);
  }

  get total(): number {
    return this.sizes().reduce((sum, size) => sum + size, 0);
  }

  /** Without pods that will be deleted but are not terminating yet. */
  get available(): number {
    const counts = [...this.pods].map(([name, pods]) =>
      Math.min(sizeOf(this.replicaSets.get(name)), pods.filter(Boolean).length),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  #everything(): string {
    return JSON.stringify([this.deployment, [...this.replicaSets], [...this.pods]]);
  }

  #perform(action: ReplicaSetChange): void {
    const { metadata, spec } = action.replicaSet;
    const name = metadata.name!;
    if (action.type === 'delete') {
      this.replicaSets.delete(name);
      this.pods.delete(name);
    } else if (action.type === 'create') {
      expect(this.replicaSets.has(name)).toBe(false);
      const creationTimestamp = new Date(this.#clock).toISOString();
      const created = { ...metadata, uid: name, generation: 1, creationTimestamp };
      this.replicaSets.set(name, { ...action.replicaSet, metadata: created });
      this.pods.set(name, []);
    } else {
      const { annotations, replicas, minReadySeconds } = action;
      this.replicaSets.set(name, {
        ...this.replicaSets.get(name)!,
        metadata: { ...metadata, annotations, generation: metadata.generation! + 1 },
        spec: { ...spec!, replicas, minReadySeconds },
      });
    }
  }
}

const RUNNING: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'pod' },
  spec: { containers: [] },
  status: { phase: 'Running' },
};

type Step =
  | { type: 'reconcile' }
  | { type: 'sync' | 'act' | 'bringUp' | 'fail'; which: number }
  | { type: 'useImage'; version: number }
  | { type: 'scale'; replicas: number };

const reconcile = fc.constant<Step>({ type: 'reconcile' });
const which = fc.nat(5);
const moves = fc.record({
  type: fc.constantFrom<'sync' | 'act' | 'bringUp'>('sync', 'act', 'bringUp'),
  which,
});
const useImage = fc.record({ type: fc.constant('useImage' as const), version: fc.nat(2) });
const scale = fc.record({ type: fc.constant('scale' as const), replicas: fc.nat(12) });
const fail = fc.record({ type: fc.constant('fail' as const), which });
const share: fc.Arbitrary<IntOrPercent> = fc.oneof(
  fc.nat(4),
  fc.nat(100).map((percent) => `${percent}%`),
);

function perform(world: World, step: Step): void {
  if (step.type === 'reconcile') world.reconcile();
  else if (step.type === 'useImage') world.useImage(step.version);
  else if (step.type === 'scale') world.change({ replicas: step.replicas });
  else {
    const names = [...world.replicaSets.keys()];
    const name = names[step.which % names.length];
    if (name !== undefined) world[step.type](name);
  }
}

/** Only the ReplicaSet of the current template has pods, as many as wanted. */
function expectRolledOut(world: World): void {
  const { current, old } = rolloutOf(world.deployment, [...world.replicaSets.values()]);
  expect(sizeOf(current)).toBe(world.deployment.spec!.replicas);
  expect(old.map(sizeOf)).toEqual(old.map(() => 0));
  expect(old.length).toBeLessThanOrEqual(2);
  const progressing = world.deployment.status?.conditions?.find(({ type }) => type === 'Progressing');
  expect(progressing?.reason).toBe('NewReplicaSetAvailable');
  expect(plan(rolloutOf(world.deployment, [...world.replicaSets.values()]), [])).toEqual([]);
}

describe('a rolling update', () => {
  it('never has too many pods or too few available ones, no matter how late the other controllers are', () => {
    const step = fc.oneof(
      { weight: 8, arbitrary: reconcile },
      { weight: 30, arbitrary: moves },
      { weight: 2, arbitrary: useImage },
    );
    const steps = fc.array(step, { minLength: 20, maxLength: 100 });
    fc.assert(
      fc.property(fc.nat(6), share, share, steps, (replicas, maxSurge, maxUnavailable, steps) => {
        const world = new World(deploymentOf(replicas, maxSurge, maxUnavailable));
        world.settle();
        world.useImage(1);
        const limits = limitsOf(world.deployment);
        for (const step of steps) {
          perform(world, step);
          expect(world.total).toBeLessThanOrEqual(replicas + limits.maxSurge);
          expect(world.available).toBeGreaterThanOrEqual(replicas - limits.maxUnavailable);
        }
        world.settle();
        expectRolledOut(world);
      }),
      { numRuns: 100 },
    );
  });

  it('completes no matter what happens on the way', () => {
    const steps = fc.array(fc.oneof(reconcile, moves, moves, fail, useImage, scale), { maxLength: 60 });
    const strategy = fc.constantFrom('RollingUpdate', 'Recreate');
    fc.assert(
      fc.property(fc.nat(10), share, share, strategy, steps, (replicas, surge, unavailable, type, steps) => {
        const world = new World(deploymentOf(replicas, surge, unavailable));
        if (type === 'Recreate') world.change({ strategy: { type } });
        for (const step of steps) perform(world, step);
        world.settle();
        expectRolledOut(world);
      }),
      { numRuns: 100 },
    );
  });

  it('removes broken pods of the old version first', () => {
    const world = new World(deploymentOf(4, 0, 1));
    world.settle();
    const [old] = world.replicaSets.keys();
    world.fail(old!);
    world.sync(old!);
    world.useImage(1);
    world.reconcile();
    world.reconcile();
    expect(world.sizes()).toEqual([3, 1]);
    expect(world.available).toBe(3);
  });
});

describe('the limits of a rolling update', () => {
  it.each([
    [10, '25%', '25%', 3, 2],
    [1, '25%', '25%', 1, 0],
    [3, 0, '10%', 0, 1],
    [2, 1, 5, 1, 2],
    [0, '50%', 1, 0, 0],
  ])(
    'for %i replicas, surge %s, unavailable %s',
    (replicas, surge, unavailable, maxSurge, maxUnavailable) => {
      expect(limitsOf(deploymentOf(replicas, surge, unavailable))).toEqual({
        replicas,
        maxSurge,
        maxUnavailable,
      });
    },
  );
});
