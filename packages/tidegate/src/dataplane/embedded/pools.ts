import type { Delta, PoolId, WeightedPool } from '../../ingress/model.ts';
import { type Member, Members } from './members.ts';

/** All pools with their members, following the table. */
export class Pools {
  readonly #pools = new Map<PoolId, Members>();
  readonly #random: () => number;
  readonly #onError: (error: unknown) => void;
  /** Gone from their pools, with requests that are not at their end. */
  readonly #leaving = new Set<Member>();

  constructor(random: () => number, onError: (error: unknown) => void) {
    this.#random = random;
    this.#onError = onError;
  }

  update({ from, pools: { set, remove } }: Delta): void {
    const gone = new Set<PoolId>(remove);
    if (from === 0) for (const id of this.#pools.keys()) gone.add(id);
    for (const pool of set) {
      gone.delete(pool.id);
      const known = this.#pools.get(pool.id);
      if (known === undefined) this.#pools.set(pool.id, new Members(pool));
      else this.#letGo(known.update(pool));
    }
    for (const id of gone) {
      this.#letGo(this.#pools.get(id)?.all() ?? []);
      this.#pools.delete(id);
    }
  }

  /** By weight; undefined when nobody is to get anything. */
  choose(backends: readonly WeightedPool[]): Members | undefined {
    const [only] = backends;
    if (backends.length === 1 && only !== undefined && only.weight > 0) return this.#pools.get(only.pool);
    let left = this.#random() * backends.reduce((sum, { weight }) => sum + weight, 0);
    const chosen = backends.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    return chosen && this.#pools.get(chosen.pool);
  }

  async destroy(): Promise<void> {
    const members = [...this.#pools.values()].flatMap((each) => each.all());
    await Promise.all([...members, ...this.#leaving].map((member) => member.destroy()));
  }

  #letGo(members: readonly Member[]): void {
    for (const member of members) {
      this.#leaving.add(member);
      member
        .close()
        .catch(this.#onError)
        .finally(() => this.#leaving.delete(member));
    }
  }
}
