import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Clock, Logger } from '@tidegate/kube';
import type { Delta, Upstream, UpstreamId } from '../ingress/model.ts';
import { isForeignAddress, type Resolve } from './resolve.ts';

interface Name {
  /** Undefined until the first answer. */
  addresses: readonly string[] | undefined;
  readonly upstreams: Set<UpstreamId>;
  /** Resolves after the first answer, or the lack of one. */
  answered: Promise<void>;
  /** Ends the wait for the next answer. */
  cancel: () => void;
}

interface ExternalNamesOptions {
  resolve: Resolve;
  /** Some upstreams have other addresses now: `translate` tells which. */
  onChange(): void;
  clock: Clock;
  log: Logger;
}

/** What a delta says, before it has a number. */
export type Content = Omit<Delta, 'from' | 'to'>;

const SHORTEST_SECONDS = 5;
const LONGEST_SECONDS = 300;
const RETRY_SECONDS = 5;

/**
 * Upstreams of ExternalName Services have a DNS name for an endpoint; data planes are told addresses only, and new ones when
 * they change. A name that leads to this machine itself leads nowhere.
 */
export class ExternalNames {
  readonly #options: ExternalNamesOptions;
  readonly #names = new Map<string, Name>();
  /** As the compiler made them. */
  readonly #upstreams = new Map<UpstreamId, Upstream>();
  readonly #changed = new Set<UpstreamId>();
  #closed = false;

  constructor(options: ExternalNamesOptions) {
    this.#options = options;
  }

  /** A delta with addresses for names, and with the upstreams whose names have changed since the last one. */
  translate(delta: Content | undefined): Content | undefined {
    for (const id of delta?.upstreams.remove ?? []) this.#forget(id);
    const set = (delta?.upstreams.set ?? []).map((upstream) => this.#take(upstream));
    const told = new Set(set.map(({ id }) => id));
    for (const id of this.#changed) {
      const upstream = this.#upstreams.get(id);
      if (upstream !== undefined && !told.has(id)) set.push(this.#translated(upstream));
    }
    this.#changed.clear();
    if (delta === undefined && set.length === 0) return undefined;
    const { hosts, upstreams, certificates } = delta ?? NOTHING;
    return { hosts, certificates, upstreams: { set, remove: upstreams.remove } };
  }

  /** The same for all that there is. */
  translateAll(state: Delta): Delta {
    return {
      ...state,
      upstreams: {
        ...state.upstreams,
        set: state.upstreams.set.map((upstream) => this.#translated(upstream)),
      },
    };
  }

  /** Resolves when every name was asked for once. */
  async answered(): Promise<void> {
    await Promise.all([...this.#names.values()].map(({ answered }) => answered));
  }

  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#names.values()) cancel();
  }

  #take(upstream: Upstream): Upstream {
    this.#forget(upstream.id);
    const name = nameOf(upstream);
    if (name === undefined) return upstream;
    this.#upstreams.set(upstream.id, upstream);
    const known = this.#names.get(name) ?? this.#follow(name);
    known.upstreams.add(upstream.id);
    return this.#translated(upstream);
  }

  #translated(upstream: Upstream): Upstream {
    const name = nameOf(upstream);
    if (name === undefined) return upstream;
    const all = this.#names.get(name)?.addresses ?? [];
    const port = upstream.endpoints[0]?.port ?? 0;
    const endpoints = all.filter(isForeignAddress).map((address) => ({ address, port }));
    if (endpoints.length > 0) return { ...upstream, endpoints };
    return { ...upstream, endpoints, problem: all.length > 0 ? 'notSupported' : 'noEndpoints' };
  }

  #forget(id: UpstreamId): void {
    const upstream = this.#upstreams.get(id);
    const name = upstream && nameOf(upstream);
    if (name === undefined) return;
    this.#upstreams.delete(id);
    this.#changed.delete(id);
    const known = this.#names.get(name);
    known?.upstreams.delete(id);
    if (known?.upstreams.size !== 0) return;
    known.cancel();
    this.#names.delete(name);
  }

  #follow(name: string): Name {
    const known: Name = {
      addresses: undefined,
      upstreams: new Set(),
      answered: Promise.resolve(),
      cancel: () => {},
    };
    this.#names.set(name, known);
    known.answered = this.#look(name, known);
    return known;
  }

  /** Never rejects. What was known before holds until there is a better answer. */
  async #look(name: string, known: Name): Promise<void> {
    const { resolve, clock, log, onChange } = this.#options;
    let seconds = RETRY_SECONDS;
    try {
      const { addresses, ttlSeconds } = await resolve(name);
      seconds = Math.min(Math.max(ttlSeconds, SHORTEST_SECONDS), LONGEST_SECONDS);
      if (!isDeepStrictEqual(addresses, known.addresses)) {
        known.addresses = addresses;
        for (const id of known.upstreams) this.#changed.add(id);
        if (!addresses.some(isForeignAddress))
          log.warn(
            { name, addresses },
            'an ExternalName leads to this machine itself; requests to it are answered 503',
          );
        onChange();
      }
    } catch (error) {
      log.warn({ name, err: error }, 'an ExternalName can not be resolved; trying again');
    }
    if (this.#closed || this.#names.get(name) !== known) return;
    known.cancel = clock.after(seconds * 1000, () => void this.#look(name, known));
  }
}

const NOTHING: Content = {
  hosts: { set: [], remove: [] },
  upstreams: { set: [], remove: [] },
  certificates: { set: [], remove: [] },
};

const nameOf = ({ endpoints }: Upstream): string | undefined =>
  endpoints.map(({ address }) => address).find((address) => isIP(address) === 0);
