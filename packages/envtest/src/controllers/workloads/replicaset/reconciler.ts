/** Keeps `spec.replicas` pods of one template, for ReplicaSets and ReplicationControllers. */
import {
  type Informer,
  type LabelSelector,
  matcherFromSelector,
  type Pod,
  type ReconcileResult,
  type Resource,
} from '@tidegate/kube';
import type { ControllerContext } from '../../context.ts';
import {
  claimable,
  claimPods,
  controlledBy,
  deletionOrder,
  isActive,
  isTerminating,
  nextAvailableInMs,
  PodControl,
  podFromTemplate,
  siblingsOf,
} from '../../pods/index.ts';
import { writeStatus } from '../../write-status.ts';
import { type Replicas, replicasStatus } from './status.ts';

/** The maximum number of pods to create or delete in one reconcile. */
const BURST = 500;

/** What differs between the kinds. */
export interface ReplicasKind<T extends Replicas> {
  resource: Resource<T>;
  kind: string;
  /** The name in events. */
  component: string;
  selectorOf(owner: T): LabelSelector | undefined;
  /** The status has `terminatingReplicas`. */
  countsTerminating: boolean;
}

export class ReplicasReconciler<T extends Replicas> {
  readonly #context: ControllerContext;
  readonly #kind: ReplicasKind<T>;
  readonly #owners: Informer<T>;
  readonly #pods: Informer<Pod>;
  readonly #podControl: PodControl;

  constructor(context: ControllerContext, kind: ReplicasKind<T>, owners: Informer<T>, pods: Informer<Pod>) {
    this.#context = context;
    this.#kind = kind;
    this.#owners = owners;
    this.#pods = pods;
    const recorder = context.recorderFor(kind.component);
    this.#podControl = new PodControl({ client: context.client, pods, recorder, clock: context.clock });
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const owner = this.#owners.cache.get(key);
    if (owner === undefined) return undefined;
    const { client, clock } = this.#context;
    const { resource, selectorOf } = this.#kind;
    const claimed = await claimPods({
      client,
      owner,
      ownerResource: resource,
      selector: matcherFromSelector(selectorOf(owner)),
      candidates: claimable(this.#pods.cache, owner),
      signal,
    });
    const { expectations } = this.#podControl;
    const waitMs = expectations.waitMs(owner);
    const mayChange = waitMs === 0 && owner.metadata.deletionTimestamp === undefined;
    const failure = mayChange ? await this.#manage(owner, claimed.filter(isActive), signal) : undefined;
    // A pod that this controller has deleted no longer counts, even if the cache still shows it. Otherwise a rollout
    // would rely on pods that are terminating.
    const isLeaving = (pod: Pod): boolean => isTerminating(pod) || expectations.isDeleting(pod);
    const active = claimed.filter((pod) => isActive(pod) && !isLeaving(pod));
    const now = clock.now();
    const observed = { active, terminating: claimed.filter(isLeaving) };
    const { terminatingReplicas, ...counts } = replicasStatus(owner, observed, failure, now);
    const status = this.#kind.countsTerminating ? { ...counts, terminatingReplicas } : counts;
    await writeStatus(client, resource, owner, status as NonNullable<T['status']>, signal);
    if (failure !== undefined) throw failure;
    return soonest(waitMs, nextAvailableInMs(active, owner.spec?.minReadySeconds ?? 0, now));
  }

  /** Returns the error instead of throwing it, because the status has to report it before the retry. */
  async #manage(owner: T, active: Pod[], signal: AbortSignal): Promise<unknown> {
    const { replicas = 1, template = {} } = owner.spec ?? {};
    const missing = Math.min(replicas - active.length, BURST);
    try {
      if (missing > 0) {
        const newPod = (): Pod => podFromTemplate(owner, template);
        await this.#podControl.createPods(owner, missing, newPod, signal);
      } else if (missing < 0) {
        const order = deletionOrder(active, this.#context.clock.now(), this.#related(owner));
        await this.#podControl.deletePods(owner, order.slice(0, Math.min(-missing, BURST)), signal);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** The pods of all ReplicaSets of the same Deployment. Nodes with many of them lose a pod first. */
  #related(owner: T): Pod[] {
    return siblingsOf(this.#owners.cache, owner).flatMap((sibling) =>
      controlledBy(this.#pods.cache, sibling),
    );
  }
}

function soonest(waitMs: number, availableInMs: number | undefined): ReconcileResult | undefined {
  const times = [waitMs, availableInMs ?? 0].filter((ms) => ms > 0);
  return times.length === 0 ? undefined : { requeueAfter: Math.min(...times) };
}
