import type { Delta, UpstreamId, WeightedUpstream } from '../../ingress/model.ts';
import { type Member, Members } from './members.ts';

/** All upstreams of the table, with the state of their endpoints. */
export class Upstreams {
  readonly #upstreams = new Map<UpstreamId, Members>();
  readonly #random: () => number;
  readonly #onError: (error: unknown) => void;
  /** Endpoints that were removed, but still have requests in progress. */
  readonly #leaving = new Set<Member>();

  constructor(random: () => number, onError: (error: unknown) => void) {
    this.#random = random;
    this.#onError = onError;
  }

  /** Applies a delta. Connections to removed endpoints are closed when their requests have ended. */
  update({ from, upstreams: { set, remove } }: Delta): void {
    const gone = new Set<UpstreamId>(remove);
    if (from === 0) for (const id of this.#upstreams.keys()) gone.add(id);
    for (const upstream of set) {
      gone.delete(upstream.id);
      const known = this.#upstreams.get(upstream.id);
      if (known === undefined) this.#upstreams.set(upstream.id, new Members(upstream));
      else this.#closeLater(known.update(upstream));
    }
    for (const id of gone) {
      this.#closeLater(this.#upstreams.get(id)?.all() ?? []);
      this.#upstreams.delete(id);
    }
  }

  /** Chooses one by weight; undefined if all weights are zero or the upstream does not exist. */
  choose(backends: readonly WeightedUpstream[]): Members | undefined {
    const [only] = backends;
    if (backends.length === 1 && only !== undefined && only.weight > 0)
      return this.#upstreams.get(only.upstream);
    let left = this.#random() * backends.reduce((sum, { weight }) => sum + weight, 0);
    const chosen = backends.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    return chosen && this.#upstreams.get(chosen.upstream);
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
