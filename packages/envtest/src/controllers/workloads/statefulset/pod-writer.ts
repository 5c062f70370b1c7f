import {
  type EventRecorder,
  isConflict,
  isNotFound,
  type KubeClient,
  PODS,
  type Pod,
  type StatefulSet,
} from '@tidegate/kube';
import { Expectations, type PodControlOptions } from '../../pods/index.ts';

/** Creates and deletes the pods of StatefulSets, whose events have their own wording in Kubernetes. */
export class PodWriter {
  readonly expectations: Expectations;
  readonly #client: KubeClient;
  readonly #recorder: EventRecorder;

  constructor({ client, pods, recorder, clock }: PodControlOptions) {
    this.#client = client;
    this.#recorder = recorder;
    this.expectations = new Expectations(pods, clock);
  }

  create(set: StatefulSet, pod: Pod, signal: AbortSignal): Promise<void> {
    return this.#recorded('create', set, pod, async () => {
      await this.expectations.creating(set, () => this.#client.create(PODS, pod, { signal }));
    });
  }

  /** A pod that is gone, or that has been replaced by another pod of the same name, counts as deleted. */
  delete(set: StatefulSet, pod: Pod, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata;
    return this.#recorded('delete', set, pod, () =>
      this.expectations.deleting(set, pod, async () => {
        try {
          await this.#client.delete(PODS, { namespace, name }, { preconditions: { uid }, signal });
        } catch (error) {
          if (!isNotFound(error) && !isConflict(error)) throw error;
        }
      }),
    );
  }

  async #recorded(
    verb: 'create' | 'delete',
    set: StatefulSet,
    pod: Pod,
    write: () => Promise<void>,
  ): Promise<void> {
    const what = `${verb} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
    const noun = verb === 'create' ? 'Create' : 'Delete';
    try {
      await write();
      this.#recorder.normal(set, `Successful${noun}`, `${what} successful`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#recorder.warning(set, `Failed${noun}`, `${what} failed error: ${reason}`);
      throw error;
    }
  }
}
