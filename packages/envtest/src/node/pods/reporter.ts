import {
  backoffDelay,
  type Clock,
  isBadRequest,
  isConflict,
  isInvalid,
  isNotFound,
  isOlderVersion,
  type KubeClient,
  type Logger,
  PODS,
  type Pod,
  sleep,
} from '@tidegate/kube';
import type { Lanes } from './lanes.ts';
import { statusPatch } from './patch.ts';
import type { PodStatus } from './status.ts';

const RETRY = { baseMs: 500, maxMs: 10_000 };

interface Report {
  pod: Pod;
  status: PodStatus;
  /** The pod's containers have ended: once that is written, the object may go. */
  remove: boolean;
}

/**
 * Tells the API server about one pod: the newest report counts, and it is tried until it has arrived. Apart from the
 * worker, so that a pod is looked after while the server is out of reach.
 */
export class PodReporter {
  readonly #client: KubeClient;
  readonly #lanes: Lanes;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  #written: Pod | undefined;
  #removed = false;
  #pending: Report | undefined;
  #reporting: Promise<void> | undefined;

  constructor(client: KubeClient, options: { lanes: Lanes; clock: Clock; log: Logger }) {
    this.#client = client;
    this.#lanes = options.lanes;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** The pod, or what the server answered to the newest report if that is newer. */
  newest(pod: Pod): Pod {
    const written = this.#written;
    if (written === undefined) return pod;
    const { resourceVersion } = written.metadata;
    if (isOlderVersion(pod.metadata.resourceVersion, resourceVersion)) return written;
    return pod;
  }

  report(report: Report): void {
    this.#pending = report;
    if (this.#reporting !== undefined || this.#stop.signal.aborted) return;
    if (!this.#hasNews(report)) return;
    this.#reporting = this.#reportAll().finally(() => {
      this.#reporting = undefined;
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#reporting;
  }

  #hasNews({ pod, status, remove }: Report): boolean {
    return statusPatch(this.newest(pod), status) !== undefined || (remove && !this.#removed);
  }

  async #reportAll(): Promise<void> {
    for (let failures = 0; this.#pending !== undefined; ) {
      const report = this.#pending;
      this.#pending = undefined;
      try {
        await this.#lanes.run(() => this.#write(report));
        failures = 0;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (isFinal(error)) {
          this.#log.warn({ err: error }, 'the status of the pod is not written');
          continue;
        }
        this.#log.warn({ err: error }, 'the status of the pod could not be written yet');
        this.#pending ??= report;
        const waitMs = backoffDelay(failures++, RETRY, Math.random);
        if (!(await this.#waited(waitMs))) return;
      }
    }
  }

  async #waited(ms: number): Promise<boolean> {
    try {
      await sleep(this.#clock, ms, this.#stop.signal);
      return true;
    } catch {
      return false; // Closed meanwhile.
    }
  }

  async #write({ pod, status, remove }: Report): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata;
    const { signal } = this.#stop;
    const patch = statusPatch(this.newest(pod), status);
    if (patch !== undefined) {
      const target = { namespace, name, subresource: 'status' };
      this.#written = await this.#client.patch(PODS, target, 'strategic', patch, { signal });
    }
    if (!remove || this.#removed) return;
    await this.#client.delete(
      PODS,
      { namespace, name },
      { gracePeriodSeconds: 0, preconditions: { uid }, signal },
    );
    this.#removed = true;
  }
}

/** Gone, another pod by now, or not to the server's liking: the same words will not do better later. */
const isFinal = (error: unknown): boolean =>
  isNotFound(error) || isConflict(error) || isInvalid(error) || isBadRequest(error);
