import type { Holder } from './holder.ts';
import type { ShareLimits } from './limits.ts';

/**
 * Counts what clients use at the moment and nobody can take away from them, for example open watches. An identity may use
 * `perIdentity`. If all together use `total`, a tenant gets more only up to an equal share of it: what a greedy tenant uses
 * does not keep others from using theirs. The sum can exceed `total` for a while, until the uses of the greedy tenant end.
 */
export class Allowance {
  readonly #limits: ShareLimits;
  readonly #byIdentity = new Map<string, number>();
  readonly #byTenant = new Map<string, number>();
  #total = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** Whether the holder may use that much more. */
  allows({ identity, tenant }: Holder, amount: number): boolean {
    const { perIdentity, total } = this.#limits;
    if ((this.#byIdentity.get(identity) ?? 0) + amount > perIdentity) return false;
    if (this.#total + amount <= total) return true;
    const tenants = this.#byTenant.size + (this.#byTenant.has(tenant) ? 0 : 1);
    return (this.#byTenant.get(tenant) ?? 0) + amount <= total / tenants;
  }

  /** Counts more, or less if `amount` is negative. */
  charge({ identity, tenant }: Holder, amount: number): void {
    add(this.#byIdentity, identity, amount);
    add(this.#byTenant, tenant, amount);
    this.#total += amount;
  }

  /** Counts that much more and returns true, if the holder may use it. */
  take(holder: Holder, amount: number): boolean {
    const allowed = this.allows(holder, amount);
    if (allowed) this.charge(holder, amount);
    return allowed;
  }
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  const sum = (sums.get(name) ?? 0) + amount;
  if (sum === 0) sums.delete(name);
  else sums.set(name, sum);
}
