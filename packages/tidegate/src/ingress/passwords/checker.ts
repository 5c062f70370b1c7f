import { createHash } from 'node:crypto';
import { costOf, verifyPassword } from './verify.ts';

/** How many right passwords of a tenant are remembered. */
export const MOST_REMEMBERED = 10_000;
/** The share of the CPU time that checks of passwords may use, and how much of it can be saved up. */
export const CPU_SHARE = 0.25;
export const MOST_CPU_MS = 4_000;
/** The same for the users of one tenant. */
export const TENANT_CPU_SHARE = 0.1;
export const MOST_TENANT_CPU_MS = 2_000;
/** A tenant that has saved up this part of its time may use it, even if others have used up everything. */
export const SAVED_PART = 0.75;
/** Beyond this, tenants are forgotten: their Secrets may have been deleted. */
const MOST_TENANTS = 10_000;

export type Verdict = 'right' | 'wrong' | 'busy';

/** CPU time that may be used. It comes back with time. */
class Budget {
  readonly #share: number;
  readonly #mostMs: number;
  /** Negative after an expensive check. */
  #leftMs: number;
  #seen: number;

  constructor(share: number, mostMs: number, now: number) {
    this.#share = share;
    this.#mostMs = mostMs;
    this.#leftMs = mostMs;
    this.#seen = now;
  }

  /** Which part of the time that can be saved up is left. */
  leftAt(now: number): number {
    this.#leftMs = Math.min(this.#mostMs, this.#leftMs + (now - this.#seen) * this.#share);
    this.#seen = now;
    return this.#leftMs / this.#mostMs;
  }

  use(ms: number): void {
    this.#leftMs -= ms;
  }
}

interface Tenant {
  readonly budget: Budget;
  remembered: Set<string>;
}

/**
 * Checks passwords. Hashes are slow on purpose, so right passwords are remembered: a client sends its password with each
 * request. Clients that guess passwords get only a share of the CPU time; beyond it the answer is `busy`, and clients that have
 * authenticated before are served. Each tenant has a share and a memory of its own: a tenant with slow hashes neither uses up the time
 * of others, nor replaces what is remembered of their users.
 *
 * A check is charged before it runs, by what its hash costs: several checks run at the same time, and with other requests.
 */
export class PasswordChecker {
  readonly #monotonicMs: () => number;
  readonly #verify: typeof verifyPassword;
  readonly #all: Budget;
  #tenants = new Map<string, Tenant>();

  constructor(monotonicMs: () => number, verify = verifyPassword) {
    this.#monotonicMs = monotonicMs;
    this.#verify = verify;
    this.#all = new Budget(CPU_SHARE, MOST_CPU_MS, monotonicMs());
  }

  /** With `isDecoy`, the client is not a user. It must not notice that, so the hash of another user is computed in vain. */
  async check(
    owner: string,
    { password, hash, isDecoy }: { password: string; hash: string; isDecoy: boolean },
  ): Promise<Verdict> {
    const tenant = this.#tenant(owner);
    // The hash has a salt, so this reveals no more than the hash itself.
    const key = createHash('sha256').update(`${hash}\0${password}`).digest('base64');
    if (!isDecoy && tenant.remembered.has(key)) return 'right';
    if (!this.#mayCheck(tenant.budget)) return 'busy';
    const cost = costOf(hash, password.length);
    tenant.budget.use(cost);
    this.#all.use(cost);
    if (!(await this.#verify(password, hash)) || isDecoy) return 'wrong';
    if (tenant.remembered.size >= MOST_REMEMBERED) tenant.remembered = new Set();
    tenant.remembered.add(key);
    return 'right';
  }

  #mayCheck(own: Budget): boolean {
    const now = this.#monotonicMs();
    const left = own.leftAt(now);
    return left > 0 && (this.#all.leftAt(now) > 0 || left >= SAVED_PART);
  }

  #tenant(owner: string): Tenant {
    const known = this.#tenants.get(owner);
    if (known !== undefined) return known;
    if (this.#tenants.size >= MOST_TENANTS) this.#tenants = new Map();
    const budget = new Budget(TENANT_CPU_SHARE, MOST_TENANT_CPU_MS, this.#monotonicMs());
    const tenant = { budget, remembered: new Set<string>() };
    this.#tenants.set(owner, tenant);
    return tenant;
  }
}
