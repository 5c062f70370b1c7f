import {
  DEPLOYMENTS,
  type Deployment,
  type EventRecorder,
  type Informer,
  isNamespaceTerminating,
  matcherFromSelector,
  type Pod,
  REPLICA_SETS,
  type ReconcileResult,
  type ReplicaSet,
} from '@tidegate/kube';
import type { ControllerContext } from '../../context.ts';
import { OwnWrites } from '../../own-writes.ts';
import { claim, claimable, controlledBy } from '../../pods/index.ts';
import { writeStatus } from '../../write-status.ts';
import { REVISION } from './annotations.ts';
import { createReplicaSet } from './create.ts';
import { plan, type ReplicaSetChange } from './plan.ts';
import { type Creation, deadlineInMs } from './progress.ts';
import { type Rollout, rolloutOf, sizeOf } from './rollout.ts';
import { deploymentStatus } from './status.ts';

interface Caches {
  deployments: Informer<Deployment>;
  replicaSets: Informer<ReplicaSet>;
  pods: Informer<Pod>;
}

/** Reads the caches, calls `plan`, and carries out the result. */
export class DeploymentReconciler {
  readonly #context: ControllerContext;
  readonly #caches: Caches;
  readonly #recorder: EventRecorder;
  readonly #ownWrites: OwnWrites<ReplicaSet>;

  constructor(context: ControllerContext, caches: Caches) {
    this.#context = context;
    this.#caches = caches;
    this.#ownWrites = new OwnWrites(caches.replicaSets, context.clock);
    this.#recorder = context.recorderFor('deployment-controller');
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const deployment = this.#caches.deployments.cache.get(key);
    if (deployment === undefined) {
      this.#ownWrites.forget(key);
      return undefined;
    }
    const replicaSets = await this.#claim(deployment, signal);
    const requeueAfter = this.#ownWrites.waitMs(key);
    if (requeueAfter > 0) return { requeueAfter };
    const rollout = rolloutOf(deployment, replicaSets);
    const creation = await this.#carryOut(key, rollout, signal);
    if (isNamespaceTerminating(creation.failure?.cause)) return undefined;
    const result = await this.#report(
      { ...rollout, current: creation.replicaSet ?? rollout.current },
      creation,
      signal,
    );
    if (creation.failure !== undefined) throw creation.failure;
    return result;
  }

  #claim(deployment: Deployment, signal: AbortSignal): Promise<ReplicaSet[]> {
    return claim({
      client: this.#context.client,
      owner: deployment,
      ownerResource: DEPLOYMENTS,
      resource: REPLICA_SETS,
      selector: matcherFromSelector(deployment.spec?.selector),
      candidates: claimable(this.#caches.replicaSets.cache, deployment),
      signal,
    });
  }

  async #carryOut(key: string, rollout: Rollout, signal: AbortSignal): Promise<Creation> {
    const oldPods = rollout.old.flatMap((old) => controlledBy(this.#caches.pods.cache, old));
    let creation: Creation = {};
    for (const change of plan(rollout, oldPods)) {
      if (change.type === 'create') {
        creation = await this.#create(rollout.deployment, change.replicaSet, signal);
        // All further steps depend on the new ReplicaSet.
        if (creation.replicaSet === undefined) return creation;
      } else if (change.type === 'update') {
        const updated = await this.#update(rollout.deployment, change, signal);
        this.#ownWrites.wrote(key, updated);
      } else await this.#delete(change.replicaSet, signal);
    }
    return creation;
  }

  async #create(deployment: Deployment, replicaSet: ReplicaSet, signal: AbortSignal): Promise<Creation> {
    const creation = await createReplicaSet(this.#context.client, deployment, replicaSet, signal);
    const { failure, isNew } = creation;
    if (failure !== undefined && !isNamespaceTerminating(failure.cause)) {
      this.#recorder.warning(deployment, 'ReplicaSetCreateError', failure.message);
    }
    if (isNew === true && sizeOf(replicaSet) > 0) {
      this.#recordScaling(deployment, replicaSet, 0, sizeOf(replicaSet));
    }
    return creation;
  }

  async #update(
    deployment: Deployment,
    { replicaSet, replicas, minReadySeconds, annotations }: ReplicaSetChange & { type: 'update' },
    signal: AbortSignal,
  ): Promise<ReplicaSet> {
    const { namespace, name = '', resourceVersion } = replicaSet.metadata;
    const patch = { metadata: { resourceVersion, annotations }, spec: { replicas, minReadySeconds } };
    const updated = await this.#context.client.patch(REPLICA_SETS, { namespace, name }, 'merge', patch, {
      signal,
    });
    if (replicas !== sizeOf(replicaSet)) {
      this.#recordScaling(deployment, replicaSet, sizeOf(replicaSet), replicas);
    }
    return updated;
  }

  async #delete(replicaSet: ReplicaSet, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid, resourceVersion } = replicaSet.metadata;
    const preconditions = { uid, resourceVersion };
    await this.#context.client.delete(REPLICA_SETS, { namespace, name }, { preconditions, signal });
  }

  #recordScaling(deployment: Deployment, { metadata }: ReplicaSet, from: number, to: number): void {
    const direction = from < to ? 'up' : 'down';
    const message = `Scaled ${direction} replica set ${metadata.name} from ${from} to ${to}`;
    this.#recorder.normal(deployment, 'ScalingReplicaSet', message);
  }

  async #report(
    rollout: Rollout,
    creation: Creation,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const { client, clock } = this.#context;
    const status = deploymentStatus(rollout, creation, clock.now());
    const deployment = await this.#annotate(rollout, signal);
    await writeStatus(client, DEPLOYMENTS, deployment, status, signal);
    const requeueAfter = deadlineInMs(deployment, status, clock.now());
    return requeueAfter === undefined ? undefined : { requeueAfter };
  }

  /** `kubectl rollout` reads the current revision from the Deployment. */
  async #annotate({ deployment, current }: Rollout, signal: AbortSignal): Promise<Deployment> {
    const revision = current?.metadata.annotations?.[REVISION];
    const { namespace, name = '', resourceVersion, annotations } = deployment.metadata;
    if (revision === undefined || annotations?.[REVISION] === revision) return deployment;
    const patch = { metadata: { resourceVersion, annotations: { [REVISION]: revision } } };
    return this.#context.client.patch(DEPLOYMENTS, { namespace, name }, 'merge', patch, { signal });
  }
}
