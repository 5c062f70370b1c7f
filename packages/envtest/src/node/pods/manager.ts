import { keyOf, type Logger, type Pod } from '@tidegate/kube';
import type { NodePods, PodPlace } from '../contracts.ts';
import type { PodRecord } from './record.ts';
import { PodWorker, type WorkerContext } from './worker.ts';

/**
 * All pods of one node, a worker for each. They are told apart by uid: a new pod of the same name may come while the
 * old one still ends.
 */
export class PodManager implements NodePods {
  readonly #context: WorkerContext;
  readonly #log: Logger;
  readonly #workers = new Map<string, PodWorker>();
  /** What earlier agents left, until its pod is seen. */
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

  /** The pod is on this node, and so it is wanted. */
  put(pod: Pod): void {
    const uid = pod.metadata.uid!;
    const worker = this.#workers.get(uid);
    if (worker !== undefined) worker.update(pod);
    else this.#engage({ uid, pod });
  }

  /** The pod is not in the API any more. */
  remove(pod: Pod): void {
    this.#workers.get(pod.metadata.uid!)?.gone(pod);
  }

  /** All pods have been seen: whatever else there is belongs to nobody. */
  endOrphans(): void {
    for (const [uid, { namespace, name }] of this.#records) {
      this.#log.info({ pod: `${namespace}/${name}`, uid }, 'the pod was deleted meanwhile');
      this.#engage({ uid });
    }
  }

  list(): Pod[] {
    return [...this.#workers.values()].map(({ pod }) => pod).filter((pod) => pod !== undefined);
  }

  find(namespace: string, name: string): { pod: Pod; place: PodPlace } | undefined {
    // The newest of those that share the name: it was put last.
    const pod = this.list().findLast((candidate) => keyOf(candidate) === `${namespace}/${name}`);
    if (pod === undefined) return undefined;
    return { pod, place: this.#context.runtime.place(pod.metadata.uid!) };
  }

  /** Ends all containers. Their pods stay in the API. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    await Promise.all([...this.#workers.values()].map((worker) => worker.interrupt(graceMs)));
  }

  #engage({ uid, pod }: { uid: string; pod?: Pod }): void {
    if (this.#closing) return;
    const record = this.#records.get(uid);
    this.#records.delete(uid);
    const known = { ...(pod === undefined ? {} : { pod }), ...(record === undefined ? {} : { record }) };
    const worker = new PodWorker(this.#context, known, () => this.#workers.delete(uid));
    this.#workers.set(uid, worker);
  }
}
