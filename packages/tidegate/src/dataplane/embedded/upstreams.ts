import type { IncomingHttpHeaders } from 'node:http';
import type { Delta, UpstreamId, WeightedUpstream } from '../../ingress/model.ts';
import { type Affinity, cookieOf, isForCanary } from '../../ingress/policy/index.ts';
import { type Member, Members, type PairOf } from './members.ts';

/** Headers of a request, with names in lower case. */
type Headers = IncomingHttpHeaders;

/** All upstreams of the table, with the state of their endpoints. */
export class Upstreams {
  readonly #upstreams = new Map<UpstreamId, Members>();
  readonly #random: () => number;
  readonly #onError: (error: unknown) => void;
  /** Endpoints that were removed, but still have requests in progress. */
  readonly #leaving = new Set<Member>();

  readonly #pairOf: PairOf;

  constructor(random: () => number, onError: (error: unknown) => void, pairOf: PairOf = () => undefined) {
    this.#random = random;
    this.#onError = onError;
    this.#pairOf = pairOf;
  }

  /** Applies a delta. Connections to removed endpoints are closed when their requests have ended. */
  update({ from, upstreams: { set, remove }, credentials }: Delta): void {
    const gone = new Set<UpstreamId>(remove);
    if (from === 0) for (const id of this.#upstreams.keys()) gone.add(id);
    for (const upstream of set) {
      gone.delete(upstream.id);
      const known = this.#upstreams.get(upstream.id);
      if (known === undefined) this.#upstreams.set(upstream.id, new Members(upstream, this.#pairOf));
      else this.#closeLater(known.update(upstream));
    }
    for (const id of gone) {
      this.#closeLater(this.#upstreams.get(id)?.all() ?? []);
      this.#upstreams.delete(id);
    }
    this.#renew(new Set([...(credentials?.set ?? []).map(({ id }) => id), ...(credentials?.remove ?? [])]));
  }

  /** Closes the connections that use these Secrets, after their requests. */
  #renew(changed: ReadonlySet<string>): void {
    if (changed.size === 0) return;
    for (const members of this.#upstreams.values())
      if (changed.has(members.upstream.tls?.credentials ?? ''))
        for (const member of members.all()) member.renew().catch(this.#onError);
  }

  get(id: UpstreamId): Members | undefined {
    return this.#upstreams.get(id);
  }

  /** Chooses one by weight; undefined if all weights are zero or the upstream does not exist. */
  choose(backends: readonly WeightedUpstream[], headers: Headers, affinity?: Affinity): Members | undefined {
    const [only] = backends;
    if (backends.length === 1 && only !== undefined && only.weight > 0)
      return this.#upstreams.get(only.upstream);
    const last = backends.at(-1);
    if (last?.canary !== undefined) {
      const kept = this.#keptOf(backends, headers, affinity);
      if (kept !== undefined) return kept;
      const canary = this.#canaryOf(last, headers);
      if (canary !== undefined) return canary;
    }
    let left = this.#random() * backends.reduce((sum, { weight }) => sum + weight, 0);
    const chosen = backends.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    return chosen && this.#upstreams.get(chosen.upstream);
  }

  /** A client that has an endpoint, of a backend or of its canary, stays there. */
  #keptOf(
    backends: readonly WeightedUpstream[],
    { cookie }: Headers,
    affinity: Affinity | undefined,
  ): Members | undefined {
    if (affinity === undefined || affinity.ignoresCanary) return undefined;
    const key = cookieOf(cookie, affinity.name) ?? '';
    const found = backends.find(({ upstream }) => this.#upstreams.get(upstream)?.withKey(key) !== undefined);
    return found && this.#upstreams.get(found.upstream);
  }

  /** A canary without endpoints gets no requests. */
  #canaryOf({ canary, upstream }: WeightedUpstream, headers: Headers): Members | undefined {
    if (canary === undefined) return undefined;
    const header = canary.header && headers[canary.header.name];
    const facts = {
      header: Array.isArray(header) ? header.join(', ') : header,
      cookies: headers.cookie,
      random: this.#random(),
    };
    const members = isForCanary(canary, facts) ? this.#upstreams.get(upstream) : undefined;
    return members !== undefined && members.size > 0 ? members : undefined;
  }

  /** Closes all connections immediately. */
  async destroy(): Promise<void> {
    const members = [...this.#upstreams.values()].flatMap((each) => each.all());
    await Promise.all([...members, ...this.#leaving].map((member) => member.destroy()));
  }

  #closeLater(members: readonly Member[]): void {
    for (const member of members) {
      this.#leaving.add(member);
      member
        .close()
        .catch(this.#onError)
        .finally(() => this.#leaving.delete(member));
    }
  }
}
