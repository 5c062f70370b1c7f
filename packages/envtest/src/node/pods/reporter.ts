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
  /** The pod's containers have ended, so the object is deleted after the status is written. */
  remove: boolean;
}

/**
 * Writes the status of one pod: only the latest report counts, and it is retried until it succeeds. Separate from
 * the worker, so that the pod is managed while the API server is unreachable.
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

  /** The pod, or the response to the latest write if that is newer. */
  newest(pod: Pod): Pod {
    const written = this.#written;
    if (written === undefined) return pod;
    const { resourceVersion } = written.metadata;
    if (isOlderVersion(pod.metadata.resourceVersion, resourceVersion)) return written;
    return pod;
  }

  /** Replaces a pending report, so that only the latest one is written. */
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

  /** Writes until no report is pending. A failed report is retried unless a newer one has replaced it. */
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
          this.#log.warn({ err: error }, 'the pod status was rejected and is not retried');
          continue;
        }
        this.#log.warn({ err: error }, 'cannot write the pod status; will retry');
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
      return false; // Closed in the meantime.
    }
  }

  /** Writes the status and then, if the pod has ended, deletes the object, as the kubelet does. */
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

/** The pod is gone or replaced, or the status is invalid: the same write would fail again. */
const isFinal = (error: unknown): boolean =>
  isNotFound(error) || isConflict(error) || isInvalid(error) || isBadRequest(error);
