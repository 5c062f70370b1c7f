const FIRST_MS = 1_000;
const MAX_MS = 15 * 60_000;

interface Entry {
  delayMs: number;
  since: number;
}

/**
 * Delays the replacement of failed daemon pods, because the kubelet may reject the next one for the same reason.
 * Times are in milliseconds since the epoch.
 */
export class FailureBackoff {
  readonly #entries = new Map<string, Entry>();

  /** Milliseconds until a pod may be replaced; 0 without a recent failure. */
  waitMs(key: string, now: number): number {
    const entry = this.#entries.get(key);
    return entry === undefined ? 0 : Math.max(0, entry.since + entry.delayMs - now);
  }

  replaced(key: string, now: number): void {
    for (const [known, { since }] of this.#entries) {
      if (now - since > 2 * MAX_MS) this.#entries.delete(known);
    }
    const before = this.#entries.get(key)?.delayMs;
    const delayMs = before === undefined ? FIRST_MS : Math.min(MAX_MS, before * 2);
    this.#entries.set(key, { delayMs, since: now });
  }
}
