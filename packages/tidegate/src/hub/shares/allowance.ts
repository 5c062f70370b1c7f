import type { Holder } from './holder.ts';
import type { ShareLimits } from './limits.ts';

/** A part of what a holder uses, which can grow and shrink, until it is closed. */
export interface Account {
  /** Returns false, and changes nothing, if the part has grown and the holder may not use that much. */
  resize(amount: number): boolean;
  close(): void;
}

/** The account of a holder without limits, for example of the node itself. */
export const UNLIMITED: Account = { resize: () => true, close: () => {} };

/**
 * Counts what clients use at the moment and the hub does not take away from them, for example open watches. An identity may use
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

  /** Opens an account with this amount, if the holder may use it. */
  open(holder: Holder, amount = 0): Account | undefined {
    return this.allows(holder, amount) ? this.openAnyway(holder, amount) : undefined;
  }

  /** Opens an account with this amount, also if the holder uses too much already. */
  openAnyway(holder: Holder, amount = 0): Account {
    let counted = amount;
    let isOpen = true;
    this.#charge(holder, amount);
    const resize = (size: number): boolean => {
      const growth = size - counted;
      if (!isOpen || (growth > 0 && !this.allows(holder, growth))) return !isOpen;
      this.#charge(holder, growth);
      counted = size;
      return true;
    };
    const close = (): void => {
      if (isOpen) this.#charge(holder, -counted);
      isOpen = false;
    };
    return { resize, close };
  }

  #charge({ identity, tenant }: Holder, amount: number): void {
    add(this.#byIdentity, identity, amount);
    add(this.#byTenant, tenant, amount);
    this.#total += amount;
  }
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  const sum = (sums.get(name) ?? 0) + amount;
  if (sum === 0) sums.delete(name);
  else sums.set(name, sum);
}
