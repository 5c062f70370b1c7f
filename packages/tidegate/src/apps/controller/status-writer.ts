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
import {
  EDGE_APPLICATIONS,
  type EdgeApplication,
  type EdgeApplicationStatus,
  type ResourceIdentifier,
} from '../../api/index.ts';
import { FAILURES, type Findings, pendingStatus, statusOf } from './status.ts';

/** One write tells of all that happened to an application in this time. */
const PACE_MS = 500;

interface Written {
  readonly uid: string | undefined;
  readonly status: EdgeApplicationStatus;
  readonly at: number;
}

/** Writes the status of applications: at once what must not be forgotten, and the rest not too often. */
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

  /** The application with the newest status: what we wrote may not have come back to the cache yet. */
  newest(application: EdgeApplication): EdgeApplication {
    const written = this.#writtenTo(application);
    return written === undefined ? application : { ...application, status: written.status };
  }

  forget(key: string): void {
    this.#written.delete(key);
  }

  /** Before objects are made: whatever happens then, they will be found and removed again. */
  async record(
    application: EdgeApplication,
    objects: readonly ResourceIdentifier[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.#write(application, pendingStatus(application, objects, this.#clock.now()), signal);
  }

  async report(
    application: EdgeApplication,
    findings: Findings,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const before = this.newest(application);
    const status = statusOf(before, findings, this.#clock.now());
    if (isDeepStrictEqual(before.status, status)) return undefined;
    const written = this.#writtenTo(application);
    const wait = written === undefined ? 0 : written.at + PACE_MS - this.#clock.monotonic();
    if (wait > 0) return { requeueAfter: wait };
    await this.#write(application, status, signal);
    this.#tell(before, status);
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

  /** What is new since the status that people could read so far. */
  #tell(before: EdgeApplication, { conditions }: EdgeApplicationStatus): void {
    const was = getCondition(before.status?.conditions, 'Ready');
    const is = getCondition(conditions, 'Ready');
    if (is === undefined) return;
    if (is.status === 'True' && was?.status !== 'True') this.#recorder.normal(before, is.reason, is.message);
    if (TO_BE_MENDED.has(is.reason) && is.message !== was?.message)
      this.#recorder.warning(before, is.reason, is.message);
  }
}

const TO_BE_MENDED = new Set([...FAILURES, 'RenderFailed', 'PoolMissing']);
