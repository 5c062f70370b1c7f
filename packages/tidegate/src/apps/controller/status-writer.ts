import { isDeepStrictEqual } from 'node:util';
import {
  type Applier,
  type Clock,
  type EventRecorder,
  getCondition,
  isNotFound,
  keyOf,
  type ReconcileResult,
} from '@tidegate/kube';
import { EDGE_APPLICATIONS, type EdgeApplication, type EdgeApplicationStatus } from '../../api/index.ts';
import { DRIFTED } from './drift-status.ts';
import {
  FAILURES,
  type Findings,
  type NewObject,
  pendingStatus,
  ROLLOUT_REASONS,
  statusOf,
} from './status.ts';

/** The minimum time between two reports of one application. All changes in between are in one write. */
const MIN_WRITE_INTERVAL_MS = 500;

interface Written {
  readonly uid: string | undefined;
  readonly status: EdgeApplicationStatus;
  readonly at: number;
}

/**
 * Writes the status of applications. `record` writes immediately, because new objects must be listed before they are
 * created. `report` limits the rate of writes, because a rollout changes the status of objects many times per second.
 */
export class StatusWriter {
  readonly #applier: Applier;
  readonly #recorder: EventRecorder;
  readonly #clock: Clock;
  readonly #written = new Map<string, Written>();

  constructor(applier: Applier, recorder: EventRecorder, clock: Clock) {
    this.#applier = applier;
    this.#recorder = recorder;
    this.#clock = clock;
  }

  /** Returns the application with the status that was written last. The informer cache may still have an older one. */
  newest(application: EdgeApplication): EdgeApplication {
    const written = this.#writtenTo(application);
    return written === undefined ? application : { ...application, status: written.status };
  }

  /** Forgets an application that was deleted. */
  forget(key: string): void {
    this.#written.delete(key);
  }

  /** Lists new objects in the status. Call this before they are created, so that they can always be deleted later. */
  async record(
    application: EdgeApplication,
    objects: readonly NewObject[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.#write(application, pendingStatus(application, objects, this.#clock.now()), signal);
  }

  /** Writes the result of a reconcile and records events. Returns when to reconcile again if the last write is too recent. */
  async report(
    application: EdgeApplication,
    findings: Findings,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const before = this.newest(application);
    const status = statusOf(before, findings, this.#clock.now());
    if (isDeepStrictEqual(before.status, status)) return undefined;
    const written = this.#writtenTo(application);
    const wait = written === undefined ? 0 : written.at + MIN_WRITE_INTERVAL_MS - this.#clock.monotonic();
    if (wait > 0) return { requeueAfter: wait };
    await this.#write(application, status, signal);
    this.#recordEvents(before, status);
    return undefined;
  }

  #writtenTo(application: EdgeApplication): Written | undefined {
    const written = this.#written.get(keyOf(application));
    return written?.uid === application.metadata.uid ? written : undefined;
  }

  async #write(
    application: EdgeApplication,
    status: EdgeApplicationStatus,
    signal: AbortSignal,
  ): Promise<void> {
    const { apiVersion, kind, metadata } = application;
    const { name, namespace, uid } = metadata;
    const object = { apiVersion, kind, metadata: { name, namespace }, status };
    try {
      await this.#applier.applyStatus(object, { resource: EDGE_APPLICATIONS, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#written.set(keyOf(application), { uid, status, at: this.#clock.monotonic() });
  }

  /** Records an event if the condition Ready became true, or has a new message about a problem, and if there is new drift. */
  #recordEvents(before: EdgeApplication, { conditions }: EdgeApplicationStatus): void {
    const was = getCondition(before.status?.conditions, 'Ready');
    const is = getCondition(conditions, 'Ready');
    if (is === undefined) return;
    if (is.status === 'True' && was?.status !== 'True') this.#recorder.normal(before, is.reason, is.message);
    if (NEEDS_ATTENTION.has(is.reason) && is.message !== was?.message)
      this.#recorder.warning(before, is.reason, is.message);
    const drifted = getCondition(conditions, DRIFTED);
    const earlier = getCondition(before.status?.conditions, DRIFTED);
    if (drifted?.status === 'True' && drifted.message !== earlier?.message)
      this.#recorder.warning(before, drifted.reason, drifted.message);
  }
}

const NEEDS_ATTENTION = new Set([...FAILURES, 'RenderFailed', 'PoolMissing', ROLLOUT_REASONS.Stopped]);
