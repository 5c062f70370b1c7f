import {
  type Clock,
  type EventRecorder,
  type Informer,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
  type KubeClient,
  type KubeObject,
  PODS,
  type Pod,
} from '@tidegate/kube';
import { Expectations } from './expectations.ts';

/** Options of {@link PodControl}. `recorder` records events for the owners. */
export interface PodControlOptions {
  client: KubeClient;
  pods: Informer<Pod>;
  recorder: EventRecorder;
  clock: Clock;
}

/** Creates and deletes pods for their owners, records events, and keeps the expectations. */
export class PodControl {
  readonly expectations: Expectations;
  readonly #client: KubeClient;
  readonly #recorder: EventRecorder;

  constructor({ client, pods, recorder, clock }: PodControlOptions) {
    this.#client = client;
    this.#recorder = recorder;
    this.expectations = new Expectations(pods, clock);
  }

  /** Creates one pod. Throws the error of the API server after recording it. */
  async create(owner: KubeObject, pod: Pod, signal: AbortSignal): Promise<Pod> {
    const request = (): Promise<Pod> => this.#client.create(PODS, pod, { signal });
    try {
      const created = await this.expectations.creating(owner, request);
      this.#recorder.normal(owner, 'SuccessfulCreate', `Created pod: ${created.metadata.name}`);
      return created;
    } catch (error) {
      if (!isNamespaceTerminating(error)) {
        this.#recorder.warning(owner, 'FailedCreate', `Error creating: ${messageOf(error)}`);
      }
      throw error;
    }
  }

  /**
   * Creates 1 pod, then 2, then 4 at a time and so on. An error that affects all pods, for example a quota, then
   * happens once and not a thousand times. Throws the first error, after the batch in which it happened.
   */
  async createPods(
    owner: KubeObject,
    count: number,
    newPod: (index: number) => Pod,
    signal: AbortSignal,
  ): Promise<Pod[]> {
    const created: Pod[] = [];
    let begun = 0;
    for (let size = 1; begun < count; size *= 2) {
      const batch = Array.from({ length: Math.min(size, count - begun) }, () =>
        this.create(owner, newPod(begun++), signal),
      );
      const results = await Promise.allSettled(batch);
      for (const result of results) if (result.status === 'fulfilled') created.push(result.value);
      const failed = results.find((result) => result.status === 'rejected');
      if (failed === undefined) continue;
      // Every further create would fail too, and the owner is about to be deleted.
      if (isNamespaceTerminating(failed.reason)) break;
      throw failed.reason;
    }
    return created;
  }

  /** A pod that is gone, or that has been replaced by another pod of the same name, counts as deleted. */
  async delete(owner: KubeObject, pod: Pod, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata;
    const request = async (): Promise<void> => {
      try {
        await this.#client.delete(PODS, { namespace, name }, { preconditions: { uid }, signal });
        this.#recorder.normal(owner, 'SuccessfulDelete', `Deleted pod: ${name}`);
      } catch (error) {
        if (isNotFound(error) || isConflict(error)) return;
        this.#recorder.warning(owner, 'FailedDelete', `Error deleting: ${messageOf(error)}`);
        throw error;
      }
    };
    await this.expectations.deleting(owner, pod, request);
  }

  /** Deletes all pods in parallel. Throws the first error, after all requests have finished. */
  async deletePods(owner: KubeObject, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const results = await Promise.allSettled(pods.map((pod) => this.delete(owner, pod, signal)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
