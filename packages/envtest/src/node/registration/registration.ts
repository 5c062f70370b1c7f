import { isDeepStrictEqual } from 'node:util';
import { freeBytes, LOW_BYTES } from '@tidegate/disk';
import {
  backoffDelay,
  type Clock,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  type Logger,
  NODES,
  type Node,
  sleep,
} from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { timestamp } from '../pods/record.ts';
import { NodeLease, RENEW_MS } from './lease.ts';
import { type NodeDescription, newNode, nodeStatus, ownLabels } from './node-object.ts';

/** Options of {@link Registration}. */
export interface RegistrationOptions {
  client: KubeClient;
  description: NodeDescription;
  /** Where the node writes: its status shows when there is no space left. */
  directory?: string;
  /** Spreads the first heartbeats of many nodes in one process: the fraction (0 to 1) of a period to wait. */
  offset?: number;
  clock: Clock;
  log: Logger;
}

const STATUS_MS = 10_000;
/** An unchanged status is written only this often, because the Lease is the heartbeat. */
const STATUS_UNCHANGED_MS = 300_000;
const RETRY = { baseMs: 200, maxMs: 7_000 };

/** Registers the node and keeps it registered until the signal is aborted. */
export class Registration {
  readonly #options: RegistrationOptions;
  readonly #log: Logger;
  #node: Node | undefined;
  #reportedAt = 0;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#log = options.log.child({ node: options.description.name });
  }

  /** Resolves when the Node exists in the API, however long that takes. */
  async register(signal: AbortSignal): Promise<Node> {
    for (let failures = 0; ; failures++) {
      try {
        this.#node = await this.#createOrReconcile(signal);
        return this.#node;
      } catch (error) {
        if (signal.aborted) throw error;
        this.#log.warn({ err: error }, 'cannot register the node; will retry');
        await sleep(this.#options.clock, backoffDelay(failures, RETRY, Math.random), signal);
      }
    }
  }

  /** Sends heartbeats; call it after `register`. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#renewLease(signal), this.#reportStatus(signal)]);
  }

  /** An existing Node keeps what users have set; only the labels that describe the node itself are corrected. */
  async #createOrReconcile(signal: AbortSignal): Promise<Node> {
    const { client, description, clock } = this.#options;
    try {
      const node = newNode(description, timestamp(clock.now()));
      const created = await client.create<Node>(NODES, node, { signal });
      this.#reportedAt = clock.monotonic();
      return created;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const node = await client.get(NODES, { name: description.name }, { signal });
    const labels = ownLabels(description);
    const current = node.metadata.labels ?? {};
    if (Object.entries(labels).every(([name, value]) => current[name] === value)) return node;
    return client.patch(NODES, { name: description.name }, 'merge', { metadata: { labels } }, { signal });
  }

  #renewLease(signal: AbortSignal): Promise<void> {
    const lease = new NodeLease(this.#options.client, () => this.#node!, this.#options.clock);
    return this.#every(RENEW_MS, signal, 'cannot renew the Lease of the node; will retry', () =>
      lease.renew(signal),
    );
  }

  #reportStatus(signal: AbortSignal): Promise<void> {
    return this.#every(STATUS_MS, signal, 'cannot write the status of the node; will retry', () =>
      this.#report(signal),
    );
  }

  async #every(
    periodMs: number,
    signal: AbortSignal,
    problem: string,
    work: () => Promise<void>,
  ): Promise<void> {
    const { clock, offset = 0 } = this.#options;
    let failures = 0;
    let waitMs = offset * periodMs;
    while (!signal.aborted) {
      try {
        await sleep(clock, waitMs, signal);
        await work();
        failures = 0;
        waitMs = periodMs;
      } catch (error) {
        if (signal.aborted) return;
        this.#log.warn({ err: error }, problem);
        waitMs = backoffDelay(failures++, RETRY, Math.random);
      }
    }
  }

  async #isDiskFull(): Promise<boolean> {
    const { directory } = this.#options;
    return directory !== undefined && (await freeBytes(directory)) < LOW_BYTES;
  }

  /** Reads the Node first, because other components write conditions and addresses too. */
  async #report(signal: AbortSignal): Promise<void> {
    const { client, description, clock } = this.#options;
    const { name } = description;
    try {
      const node = await client.get(NODES, { name }, { signal });
      const status = nodeStatus(description, node.status, timestamp(clock.now()), await this.#isDiskFull());
      const quiet = clock.monotonic() - this.#reportedAt < STATUS_UNCHANGED_MS;
      if (quiet && isUnchanged(node.status, status)) return;
      await client.patch(NODES, { name, subresource: 'status' }, 'strategic', { status }, { signal });
      this.#reportedAt = clock.monotonic();
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#log.warn({}, 'the Node was deleted; registering it again');
      await this.register(signal);
    }
  }
}

/** Ignores the times in the conditions. */
function isUnchanged(before: core.NodeStatus | undefined, now: core.NodeStatus): boolean {
  const withoutTimes = (status: core.NodeStatus, type: string): unknown => {
    const condition = status.conditions?.find((candidate) => candidate.type === type);
    return [condition?.status, condition?.reason, condition?.message];
  };
  return (
    before !== undefined &&
    isDeepStrictEqual(before.addresses, now.addresses) &&
    isDeepStrictEqual(before.capacity, now.capacity) &&
    isDeepStrictEqual(before.nodeInfo, now.nodeInfo) &&
    isDeepStrictEqual(before.daemonEndpoints, now.daemonEndpoints) &&
    (now.conditions ?? []).every(({ type }) =>
      isDeepStrictEqual(withoutTimes(before, type), withoutTimes(now, type)),
    )
  );
}
