import type { Clock } from '../base/clock.ts';
import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import {
  ApiStatusError,
  isAlreadyExists,
  isConflict,
  isNotFound,
  isServerUnavailable,
} from '../client/errors.ts';
import type { CallOptions } from '../client/options.ts';
import type { Resource } from '../client/resource.ts';

interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string | null;
    leaseDurationSeconds?: number | null;
    acquireTime?: string | null;
    renewTime?: string | null;
    leaseTransitions?: number | null;
  };
}

const LEASES: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  resource: 'leases',
  namespaced: true,
};

export interface LeaseLockOptions {
  namespace: string;
  name: string;
  identity: string;
  leaseDurationMs: number;
  clock: Clock;
}

/**
 * A Lease as a lock. The times in a Lease come from other machines, whose clocks may be wrong, so they are never
 * compared with our clock. What counts is how long we have not seen the Lease change.
 */
export class LeaseLock {
  readonly #client: KubeClient;
  readonly #options: LeaseLockOptions;
  /** The Lease as last read or written, and when, by our own clock. */
  #observed: Lease | undefined;
  #observedAt = 0;

  constructor(client: KubeClient, options: LeaseLockOptions) {
    this.#client = client;
    this.#options = options;
  }

  get holder(): string | undefined {
    return this.#observed?.spec?.holderIdentity ?? undefined;
  }

  /** True when we hold the lock now, newly acquired or renewed; false when another candidate holds it. */
  async tryAcquire(signal: AbortSignal): Promise<boolean> {
    const { identity } = this.#options;
    try {
      if (this.holder === identity && !this.#expired()) return await this.#write(this.#observed!, signal);
    } catch (error) {
      // Our copy is stale, or the Lease was deleted: read it before deciding.
      if (!(error instanceof ApiStatusError) || isServerUnavailable(error)) throw error;
    }
    const lease = await this.#read(signal);
    if (lease === undefined) return this.#create(signal);
    if (!this.#isFree(lease)) return false;
    return this.#write(lease, signal).catch(falseIf(isConflict));
  }

  /**
   * Frees the lock immediately, if we hold it. An empty holder and a short duration let the next candidate take over
   * at its next attempt.
   */
  async release(options: CallOptions): Promise<void> {
    const lease = this.#observed;
    if (lease === undefined || this.holder !== this.#options.identity) return;
    const now = this.#now();
    const spec = {
      ...lease.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
    };
    this.#observed = undefined;
    await this.#client.update(LEASES, { ...lease, spec }, options);
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const { namespace, name } = this.#options;
    try {
      const lease = await this.#client.get(LEASES, { namespace, name }, { signal });
      if (lease.metadata.resourceVersion !== this.#observed?.metadata.resourceVersion) this.#observe(lease);
      return lease;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #create(signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = this.#options;
    const now = this.#now();
    const spec = { ...this.#claim(now), acquireTime: now, leaseTransitions: 0 };
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name },
      spec,
    };
    const created = await this.#client.create(LEASES, lease, { signal }).catch(undefinedIf(isAlreadyExists));
    if (created === undefined) return false;
    this.#observe(created);
    return true;
  }

  /**
   * Writes with the resourceVersion of `lease`: if another candidate was faster, the server answers with a conflict.
   */
  async #write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const now = this.#now();
    const renewal = lease.spec?.holderIdentity === this.#options.identity;
    const takeover = { acquireTime: now, leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 };
    const spec = { ...lease.spec, ...this.#claim(now), ...(renewal ? {} : takeover) };
    this.#observe(await this.#client.update(LEASES, { ...lease, spec }, { signal }));
    return true;
  }

  #claim(now: string): NonNullable<Lease['spec']> {
    const { identity, leaseDurationMs } = this.#options;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
      renewTime: now,
    };
  }

  /** A Lease with our own identity is free as well: the program restarted before its lease expired. */
  #isFree(lease: Lease): boolean {
    const holder = lease.spec?.holderIdentity ?? '';
    return holder === '' || holder === this.#options.identity || this.#expired();
  }

  #expired(): boolean {
    const seconds = this.#observed?.spec?.leaseDurationSeconds ?? 0;
    return this.#options.clock.monotonic() - this.#observedAt >= seconds * 1000;
  }

  #observe(lease: Lease): void {
    this.#observed = lease;
    this.#observedAt = this.#options.clock.monotonic();
  }

  /** A MicroTime must have six fractional digits; API servers reject anything else. */
  #now(): string {
    return new Date(this.#options.clock.now()).toISOString().replace('Z', '000Z');
  }
}

const undefinedIf =
  (expected: (error: unknown) => boolean) =>
  (error: unknown): undefined => {
    if (!expected(error)) throw error;
  };

const falseIf =
  (expected: (error: unknown) => boolean) =>
  (error: unknown): boolean => {
    if (expected(error)) return false;
    throw error;
  };
