import { type Informer, isNotFound, type KubeClient, type KubeObject, PODS, type Pod } from '@tidegate/kube';
import { controllerOf } from '../../pods/index.ts';
import { isTracked, TRACKING_FINALIZER } from './pods.ts';

const BY_JOB = 'job/tracked';
const JOB_NAME = 'batch.kubernetes.io/job-name';

/** Adds and removes the tracking finalizer of pods, and remembers removals until the cache shows them. */
export class TrackingFinalizers {
  readonly #client: KubeClient;
  readonly #pods: Informer<Pod>;
  /** Uids of pods that the cache may still show with the finalizer. */
  readonly #removed = new Set<string>();

  constructor(client: KubeClient, pods: Informer<Pod>) {
    this.#client = client;
    this.#pods = pods;
    pods.addIndex(BY_JOB, jobKeyOf);
    pods.addHandler({
      onUpdate: (_, pod) => {
        if (!isTracked(pod)) this.#removed.delete(pod.metadata.uid ?? '');
      },
      onDelete: (pod) => {
        this.#removed.delete(pod.metadata.uid ?? '');
      },
    });
  }

  /** The pods that still wait to be counted by a Job of this name, whether the Job exists or not. */
  heldFor(jobKey: string): Pod[] {
    return this.#pods.cache.byIndex(BY_JOB, jobKey).filter((pod) => !this.#removed.has(uidOf(pod)));
  }

  /** The pod without a finalizer that was already removed, even if the cache still shows it. */
  shown(pod: Pod): Pod {
    if (!this.#removed.has(uidOf(pod))) return pod;
    return { ...pod, metadata: { ...pod.metadata, finalizers: withoutTracking(pod) } };
  }

  async add(pod: Pod, signal: AbortSignal): Promise<Pod> {
    return this.#patch(pod, { finalizers: [TRACKING_FINALIZER] }, signal);
  }

  /** Returns the uids of the pods for which it succeeded, and the first error. */
  async remove(pods: readonly Pod[], signal: AbortSignal): Promise<{ uids: string[]; failure?: unknown }> {
    const results = await Promise.allSettled(pods.map((pod) => this.#remove(pod, signal)));
    const failed = results.find((result) => result.status === 'rejected');
    return {
      uids: pods.filter((_, i) => results[i]?.status === 'fulfilled').map(uidOf),
      ...(failed === undefined ? {} : { failure: failed.reason }),
    };
  }

  async #remove(pod: Pod, signal: AbortSignal): Promise<void> {
    if (!isTracked(pod)) return;
    const patch = { '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] };
    this.#removed.add(uidOf(pod));
    try {
      await this.#patch(pod, patch, signal);
    } catch (error) {
      this.#removed.delete(uidOf(pod));
      if (!isNotFound(error)) throw error;
    }
  }

  #patch({ metadata }: Pod, changes: object, signal: AbortSignal): Promise<Pod> {
    const { namespace, name = '', uid } = metadata;
    const patch = { metadata: { ...changes, uid } };
    return this.#client.patch(PODS, { namespace, name }, 'strategic', patch, { signal });
  }
}

/**
 * The Job that tracks a pod, even if the Job no longer exists: pods outlive their Job when they are orphaned, or
 * when the Job is deleted in the background.
 */
export function jobKeyOf(pod: Pod): string[] {
  if (!isTracked(pod)) return [];
  const controller = controllerOf(pod);
  const name = controller === undefined ? pod.metadata.labels?.[JOB_NAME] : controller.name;
  const isJobs = controller === undefined || controller.kind === 'Job';
  return name === undefined || !isJobs ? [] : [`${pod.metadata.namespace}/${name}`];
}

const withoutTracking = ({ metadata }: Pod): string[] =>
  (metadata.finalizers ?? []).filter((finalizer) => finalizer !== TRACKING_FINALIZER);

const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? '';
