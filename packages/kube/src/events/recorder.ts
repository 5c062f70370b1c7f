import { type Clock, type Random, sleep, systemClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import {
  ApiStatusError,
  isNamespaceTerminating,
  isNotFound,
  isServerUnavailable,
  isTooManyRequests,
} from '../client/errors.ts';
import type { Resource } from '../client/resource.ts';
import { type Correlated, Correlator, Recent } from './correlator.ts';

const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };

/** Options of {@link EventRecorder}. */
export interface RecorderOptions {
  /** The reporting component: `reportingComponent`, and the FROM column of kubectl describe. */
  component: string;
  /** The instance of the component, for example the name of its pod. */
  instance?: string;
  clock?: Clock;
  random?: Random;
  log?: Logger;
}

interface Pending {
  subject: KubeObject;
  type: 'Normal' | 'Warning';
  reason: string;
  correlated: Correlated;
  at: string;
}

/** Limits the memory that events can take while the server is unreachable. */
const MOST_PENDING = 1_000;
const ATTEMPTS = 5;
const RETRY_MS = 10_000;
/** The namespace for events about cluster-scoped objects, for example nodes. */
const CLUSTER_NAMESPACE = 'default';

/**
 * Records Events, which users see in `kubectl describe` and `kubectl events`. Recording never throws and never waits:
 * if the server cannot keep up, events are dropped and counted in the log.
 *
 * @example
 * const recorder = new EventRecorder(client, { component: 'shop-controller' });
 * recorder.warning(ingress, 'NoBackend', 'Service "web" does not exist');
 */
export class EventRecorder {
  readonly #client: KubeClient;
  readonly #options: RecorderOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Logger;
  readonly #correlator: Correlator;
  readonly #stop = new AbortController();
  readonly #pending: Pending[] = [];
  /** The name of the Event object that counts repetitions, by correlator key. */
  readonly #written = new Recent<string>();
  #writing: Promise<void> | undefined;

  constructor(client: KubeClient, options: RecorderOptions) {
    this.#client = client;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#log = options.log ?? silentLogger;
    this.#correlator = new Correlator(this.#clock);
  }

  /**
   * Records that something happened as expected. `reason` is one word in CamelCase, for programs; `message` is for
   * users.
   */
  normal(subject: KubeObject, reason: string, message: string): void {
    this.#record(subject, 'Normal', reason, message);
  }

  /** Records a problem that a user should know about. */
  warning(subject: KubeObject, reason: string, message: string): void {
    this.#record(subject, 'Warning', reason, message);
  }

  /** Resolves when all events recorded so far have been written or dropped. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  /** Drops the events that have not been written yet. */
  async close(): Promise<void> {
    this.#pending.length = 0;
    this.#stop.abort();
    await this.#writing;
  }

  #record(subject: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (this.#stop.signal.aborted) return;
    const facts = { subject: identify(subject), type, reason, message: message.slice(0, 1024) };
    const correlated = this.#correlator.correlate(facts);
    if (correlated === undefined) return;
    if (this.#pending.length >= MOST_PENDING) {
      this.#log.warn(
        { reason, subject: facts.subject },
        'event dropped: too many events are waiting to be written',
      );
      return;
    }
    const at = new Date(this.#clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    this.#pending.push({ subject, type, reason, correlated, at });
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    for (let event = this.#pending.shift(); event !== undefined; event = this.#pending.shift()) {
      try {
        await this.#writeWithRetries(event);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        // Deleting a namespace deletes its events, so new ones are of no use.
        if (isNamespaceTerminating(error)) continue;
        this.#log.warn({ err: error, reason: event.reason }, 'the event could not be written');
      }
    }
  }

  async #writeWithRetries(event: Pending): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#write(event);
      } catch (error) {
        if (attempt === ATTEMPTS || !mayPass(error)) throw error;
        await sleep(this.#clock, RETRY_MS * (0.5 + this.#random()), this.#stop.signal);
      }
    }
  }

  async #write(event: Pending): Promise<void> {
    const { key, count, message } = event.correlated;
    const namespace = event.subject.metadata.namespace ?? CLUSTER_NAMESPACE;
    const written = this.#written.get(key);
    if (written !== undefined && count > 1) {
      const patch = { count, message, lastTimestamp: event.at };
      try {
        await this.#client.patch(EVENTS, { namespace, name: written }, 'strategic', patch, this.#callOptions);
        return;
      } catch (error) {
        // Events expire after an hour: create a new one.
        if (!isNotFound(error)) throw error;
        this.#correlator.forget(key);
      }
    }
    const created = await this.#client.create(EVENTS, this.#toObject(event, namespace), this.#callOptions);
    this.#written.set(key, created.metadata.name!);
  }

  get #callOptions(): { signal: AbortSignal } {
    return { signal: this.#stop.signal };
  }

  #toObject({ subject, type, reason, correlated, at }: Pending, namespace: string): KubeObject {
    const { name = '', uid, resourceVersion } = subject.metadata;
    const { component, instance } = this.#options;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      // The name of the object and a timestamp, the convention of client-go.
      metadata: { name: `${name}.${this.#suffix()}`, namespace },
      involvedObject: {
        apiVersion: subject.apiVersion,
        kind: subject.kind,
        name,
        namespace: subject.metadata.namespace,
        uid,
        resourceVersion,
      },
      type,
      reason,
      message: correlated.message,
      count: 1,
      firstTimestamp: at,
      lastTimestamp: at,
      source: { component },
      reportingComponent: component,
      reportingInstance: instance ?? '',
    };
  }

  #suffix(): string {
    const random = Math.floor(this.#random() * 2 ** 32);
    return this.#clock.now().toString(16) + random.toString(16).padStart(8, '0');
  }
}

const mayPass = (error: unknown): boolean =>
  !(error instanceof ApiStatusError) || isServerUnavailable(error) || isTooManyRequests(error);

const identify = ({ apiVersion, kind, metadata }: KubeObject): string =>
  [apiVersion, kind, metadata.namespace ?? '', metadata.name ?? '', metadata.uid ?? ''].join('/');
