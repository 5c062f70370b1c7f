import { keyOf, type Logger, type Pod } from '@tidegate/kube';
import type { Inside, NodePods, PodPlace } from '../contracts.ts';
import type { PodRecord } from './record.ts';
import { PodWorker, type WorkerContext } from './worker.ts';

/**
 * All pods of one node, with a worker for each. They are distinguished by uid, because a new pod of the same name
 * may arrive while the old one is still terminating.
 */
export class PodManager implements NodePods {
  readonly #context: WorkerContext;
  readonly #log: Logger;
  readonly #workers = new Map<string, PodWorker>();
  /** Records of earlier agents, until their pods are seen. */
  readonly #records: Map<string, PodRecord>;
  #closing = false;

  private constructor(context: WorkerContext, records: PodRecord[]) {
    this.#context = context;
    this.#log = context.log;
    this.#records = new Map(records.map((record) => [record.uid, record]));
  }

  static async open(context: WorkerContext): Promise<PodManager> {
    return new PodManager(context, await context.runtime.load());
  }

  /** Called for every pod that is bound to this node. */
  put(pod: Pod): void {
    const uid = pod.metadata.uid!;
    const worker = this.#workers.get(uid);
    if (worker !== undefined) worker.update(pod);
    else this.#engage({ uid, pod });
  }

  /** Called when the pod no longer exists in the API. */
  remove(pod: Pod): void {
    this.#workers.get(pod.metadata.uid!)?.gone(pod);
  }

  /** Called when all pods of the API are known: records without a pod belong to pods that were deleted. */
  endOrphans(): void {
    for (const [uid, { namespace, name }] of this.#records) {
      this.#log.info(
        { pod: `${namespace}/${name}`, uid },
        'the pod was deleted while no agent was running; stopping its containers',
      );
      this.#engage({ uid });
    }
  }

  list(): Pod[] {
    return [...this.#workers.values()].map(({ pod }) => pod).filter((pod) => pod !== undefined);
  }

  find(namespace: string, name: string): { pod: Pod; place: PodPlace } | undefined {
    // If several pods share the name, the newest was added last.
    const pod = this.list().findLast((candidate) => keyOf(candidate) === `${namespace}/${name}`);
    if (pod === undefined) return undefined;
    return { pod, place: this.#context.runtime.place(pod.metadata.uid!) };
  }

  inside(pod: Pod, container: string): Inside | undefined {
    return this.#context.runtime.inside(pod.metadata.uid!, container);
  }

  /** Stops all containers. Their pods stay in the API. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    await Promise.all([...this.#workers.values()].map((worker) => worker.interrupt(graceMs)));
  }

  /** Starts a worker for a pod, with the record of an earlier agent if there is one. */
  #engage({ uid, pod }: { uid: string; pod?: Pod }): void {
    if (this.#closing) return;
    const record = this.#records.get(uid);
    this.#records.delete(uid);
    const known = { ...(pod === undefined ? {} : { pod }), ...(record === undefined ? {} : { record }) };
    const worker = new PodWorker(this.#context, known, () => this.#workers.delete(uid));
    this.#workers.set(uid, worker);
  }
}
