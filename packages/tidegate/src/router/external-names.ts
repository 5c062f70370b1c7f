import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Clock, Logger } from '@tidegate/kube';
import { isForeignAddress } from '../ingress/foreign-address.ts';
import type { Delta, Upstream, UpstreamId } from '../ingress/model.ts';
import type { Resolve } from './resolve.ts';

/** A DNS name that is resolved regularly. */
interface Name {
  /** Undefined until the first answer. */
  addresses: readonly string[] | undefined;
  readonly upstreams: Set<UpstreamId>;
  /** Resolves after the first lookup, whether it succeeded or not. */
  answered: Promise<void>;
  /** Cancels the next lookup. */
  cancel: () => void;
}

interface ExternalNamesOptions {
  resolve: Resolve;
  /** Called when addresses have changed: the next `translate` returns the upstreams concerned. */
  onChange(): void;
  clock: Clock;
  log: Logger;
}

/** A delta before it has a generation. */
export type Content = Omit<Delta, 'from' | 'to'>;

const MIN_TTL_SECONDS = 5;
const MAX_TTL_SECONDS = 300;
const RETRY_SECONDS = 5;

/**
 * Resolves the DNS names of ExternalName Services, because data planes use addresses only. Names are resolved again when
 * their TTL expires. Addresses of this machine and its link are dropped: a tenant could otherwise reach services of the
 * node through the router.
 */
export class ExternalNames {
  readonly #options: ExternalNamesOptions;
  readonly #names = new Map<string, Name>();
  /** The upstreams with a DNS name, as the compiler returned them. */
  readonly #upstreams = new Map<UpstreamId, Upstream>();
  readonly #changed = new Set<UpstreamId>();
  #closed = false;

  constructor(options: ExternalNamesOptions) {
    this.#options = options;
  }

  /** Replaces names by addresses, and adds the upstreams whose addresses have changed since the last call. */
  translate(delta: Content | undefined): Content | undefined {
    for (const id of delta?.upstreams.remove ?? []) this.#forget(id);
    const set = (delta?.upstreams.set ?? []).map((upstream) => this.#take(upstream));
    const included = new Set(set.map(({ id }) => id));
    for (const id of this.#changed) {
      const upstream = this.#upstreams.get(id);
      if (upstream !== undefined && !included.has(id)) set.push(this.#translated(upstream));
    }
    this.#changed.clear();
    if (delta === undefined && set.length === 0) return undefined;
    const { upstreams, ...others } = delta ?? NOTHING;
    return { ...others, upstreams: { set, remove: upstreams.remove } };
  }

  /** The same for a full state. */
  translateAll(state: Delta): Delta {
    return {
      ...state,
      upstreams: {
        ...state.upstreams,
        set: state.upstreams.set.map((upstream) => this.#translated(upstream)),
      },
    };
  }

  /** Resolves when every name has been looked up once. */
  async answered(): Promise<void> {
    await Promise.all([...this.#names.values()].map(({ answered }) => answered));
  }

  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#names.values()) cancel();
  }

  /** Remembers an upstream with a DNS name, and starts to resolve the name. */
  #take(upstream: Upstream): Upstream {
    this.#forget(upstream.id);
    const name = nameOf(upstream);
    if (name === undefined) return upstream;
    this.#upstreams.set(upstream.id, upstream);
    const known = this.#names.get(name) ?? this.#follow(name);
    known.upstreams.add(upstream.id);
    return this.#translated(upstream);
  }

  /** The upstream with the current addresses of its name. Until the first lookup it has no endpoints. */
  #translated(upstream: Upstream): Upstream {
    const name = nameOf(upstream);
    if (name === undefined) return upstream;
    const all = this.#names.get(name)?.addresses ?? [];
    const port = upstream.endpoints[0]?.port ?? 0;
    const endpoints = all.filter(isForeignAddress).map((address) => ({ address, port }));
    if (endpoints.length > 0) return { ...upstream, endpoints };
    return { ...upstream, endpoints, problem: all.length > 0 ? 'notSupported' : 'noEndpoints' };
  }

  /** Stops resolving a name that no upstream uses anymore. */
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
    known.answered = this.#lookUp(name, known);
    return known;
  }

  /** Never rejects. After a failed lookup the previous addresses stay in use. */
  async #lookUp(name: string, known: Name): Promise<void> {
    const { resolve, clock, log, onChange } = this.#options;
    let seconds = RETRY_SECONDS;
    try {
      const { addresses, ttlSeconds } = await resolve(name);
      seconds = Math.min(Math.max(ttlSeconds, MIN_TTL_SECONDS), MAX_TTL_SECONDS);
      if (!isDeepStrictEqual(addresses, known.addresses)) {
        known.addresses = addresses;
        for (const id of known.upstreams) this.#changed.add(id);
        if (!addresses.some(isForeignAddress))
          log.warn(
            { name, addresses },
            'an ExternalName resolves to local addresses only, which are not allowed; its requests get 503',
          );
        onChange();
      }
    } catch (error) {
      log.warn({ name, err: error }, 'cannot resolve an ExternalName; retrying');
    }
    if (this.#closed || this.#names.get(name) !== known) return;
    known.cancel = clock.after(seconds * 1000, () => void this.#lookUp(name, known));
  }
}

const NOTHING: Content = {
  hosts: { set: [], remove: [] },
  upstreams: { set: [], remove: [] },
  certificates: { set: [], remove: [] },
};

const nameOf = ({ endpoints }: Upstream): string | undefined =>
  endpoints.map(({ address }) => address).find((address) => isIP(address) === 0);
