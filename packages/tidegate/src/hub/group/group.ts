import { type Clock, type CredentialSource, type Logger, type Metrics, sleep } from '@tidegate/kube';
import type { NodeReports } from '../site/index.ts';
import type { Frame } from './frames.ts';
import type { NodeAddresses } from './node-addresses.ts';
import { Peer } from './peer.ts';
import { readReports } from './peer-link.ts';

export interface GroupTimings {
  /** How often a node shows that it is there. */
  beatMs: number;
  /** Without a sign of life for this long, a connection is given up. */
  silenceMs: number;
  /** A node that is silent for this long is lost: as long as Kubernetes waits before it marks a node. */
  graceMs: number;
  retryMs: number;
}

export const GROUP_TIMINGS: GroupTimings = {
  beatMs: 2_000,
  silenceMs: 8_000,
  graceMs: 40_000,
  retryMs: 2_000,
};

export interface GroupOptions {
  /** The other nodes of the pool, at the moment. */
  members(): readonly string[];
  port: number;
  addresses: Pick<NodeAddresses, 'find' | 'wasHeard' | 'heard'>;
  /** The client certificate of this node. */
  credentials: CredentialSource;
  /** The CAs of the serving certificates of nodes. */
  ca: readonly string[];
  /** Whether this node is cut off, or was until a moment ago. */
  isCut(): boolean;
  /** Called when reports of a node have changed, or the node was lost or has returned. */
  onChange(node: string): void;
  timings: GroupTimings;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
}

/** Each hub reads from each other one, so a larger pool would need too many connections. */
export const MOST_MEMBERS = 100;

interface Membership {
  readonly peer: Peer;
  readonly stop: AbortController;
  lost: boolean;
}

/** The other nodes of the pool, as this hub hears them. It reads the reports of each of them for as long as it is a member. */
export class Group {
  readonly #options: GroupOptions;
  readonly #members = new Map<string, Membership>();
  readonly #tasks = new Set<Promise<void>>();
  #cancel = (): void => {};
  #tooMany = false;
  #closed = false;

  constructor(options: GroupOptions) {
    this.#options = options;
    const gauge = options.metrics.gauge('tidegate_hub_group_nodes', {
      help: 'Other nodes of the pool of this node, by state: heard, silent (never heard, or not for long), or lost in the site.',
      labels: ['state'],
    });
    options.metrics.onScrape(() => {
      const states = [...this.#members.values()].map(({ peer }) => peer.state);
      for (const state of ['heard', 'silent', 'lost'] as const)
        gauge.set({ state }, states.filter((each) => each === state).length);
    });
  }

  start(): void {
    this.membersChanged();
    this.#beat();
  }

  /** The number of other nodes. */
  get size(): number {
    return this.#members.size;
  }

  isMember(node: string): boolean {
    return this.#members.has(node);
  }

  reportsOf(node: string): NodeReports | undefined {
    return this.#members.get(node)?.peer;
  }

  /** Whether reports of any other node count, or any other node is lost. */
  inForce(): boolean {
    for (const { peer } of this.#members.values()) if (peer.known || peer.lost) return true;
    return false;
  }

  /** Call it when pools have changed. Returns whether the members have. */
  membersChanged(): boolean {
    if (this.#closed) return false;
    const now = new Set(this.#limited(this.#options.members()));
    const left = [...this.#members.keys()].filter((node) => !now.has(node));
    const joined = [...now].filter((node) => !this.#members.has(node));
    for (const node of left) {
      this.#members.get(node)?.stop.abort();
      this.#members.delete(node);
    }
    for (const node of joined) this.#join(node);
    for (const node of [...left, ...joined]) this.#options.onChange(node);
    return left.length + joined.length > 0;
  }

  /** Call it when this node is cut off, or is not any more: other reports count now. */
  cutChanged(): void {
    for (const [node, membership] of this.#members) {
      membership.lost = membership.peer.lost;
      this.#options.onChange(node);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    for (const { stop } of this.#members.values()) stop.abort();
    await Promise.all(this.#tasks);
  }

  #join(node: string): void {
    const { isCut, timings } = this.#options;
    const graceBeats = Math.ceil(timings.graceMs / timings.beatMs);
    const peer = new Peer({ graceBeats, isCut });
    const stop = new AbortController();
    this.#members.set(node, { peer, stop, lost: false });
    const task = this.#follow(node, peer, stop.signal).finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  /** Reads the reports of a node, and connects again when the connection has ended. */
  async #follow(node: string, peer: Peer, signal: AbortSignal): Promise<void> {
    const { addresses, timings, clock, log } = this.#options;
    if (await addresses.wasHeard(node)) peer.heardBefore();
    let problem: string | undefined;
    while (!signal.aborted) {
      const host = await addresses.find(node, signal);
      if (host !== undefined) {
        const error = await this.#read(node, host, peer, signal).catch((reason: Error) => reason);
        if (signal.aborted) return;
        if (isRefused(error)) peer.answer();
        if (error.message !== problem)
          log.info(
            { err: error, node, host },
            'the connection to another hub of the pool has ended; retrying',
          );
        problem = error.message;
      }
      await sleep(clock, timings.retryMs, signal).catch(() => {}); // Rejects when aborted.
    }
  }

  #read(node: string, host: string, peer: Peer, signal: AbortSignal): Promise<Error> {
    const { port, credentials, ca, timings, clock, addresses } = this.#options;
    const { silenceMs } = timings;
    const onAlive = (): void => {
      if (!peer.heard) void addresses.heard(node);
      peer.hear();
      this.#look(node);
    };
    const onFrame = (frame: Frame): void => {
      const counted = peer.known;
      peer.take(frame);
      if (counted || peer.known) this.#options.onChange(node);
    };
    return readReports({ node, host, port, credentials, ca, silenceMs, clock, onFrame, onAlive }, signal);
  }

  #beat(): void {
    const { clock, timings } = this.#options;
    this.#cancel = clock.after(timings.beatMs, () => {
      for (const [node, { peer }] of this.#members) {
        peer.beat();
        this.#look(node);
      }
      this.#beat();
    });
  }

  /** Reports it when a node is lost, or has returned. */
  #look(node: string): void {
    const membership = this.#members.get(node);
    if (membership === undefined || membership.peer.lost === membership.lost) return;
    membership.lost = membership.peer.lost;
    const { log, onChange } = this.#options;
    if (membership.lost) log.warn({ node }, 'a node of the pool is silent; its pods count as not ready');
    else log.info({ node }, 'a node of the pool is reachable again');
    onChange(node);
  }

  #limited(members: readonly string[]): readonly string[] {
    const { log } = this.#options;
    const tooMany = members.length > MOST_MEMBERS;
    if (tooMany && !this.#tooMany)
      log.warn(
        { nodes: members.length, limit: MOST_MEMBERS },
        'the pool is too large for its hubs to form a group; endpoints follow only the kubelet of this node',
      );
    this.#tooMany = tooMany;
    return tooMany ? [] : members;
  }
}

/** The machine has answered, but no hub listens: the node is not lost. */
const isRefused = (error: Error): boolean => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
