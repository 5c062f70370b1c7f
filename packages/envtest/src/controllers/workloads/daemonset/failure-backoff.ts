const FIRST_MS = 1_000;
const LONGEST_MS = 15 * 60_000;

interface Entry {
  delayMs: number;
  since: number;
}

/**
 * How soon a daemon that failed may be replaced: the kubelet may refuse the next one for the same reason. Times are
 * milliseconds since the epoch.
 */
export class FailureBackoff {
  readonly #entries = new Map<string, Entry>();

  /** Milliseconds that a replacement has to wait; 0 when there was no failure lately. */
  waitMs(key: string, now: number): number {
    const entry = this.#entries.get(key);
    return entry === undefined ? 0 : Math.max(0, entry.since + entry.delayMs - now);
  }

  replaced(key: string, now: number): void {
    for (const [known, { since }] of this.#entries) {
      if (now - since > 2 * LONGEST_MS) this.#entries.delete(known);
    }
    const before = this.#entries.get(key)?.delayMs;
    const delayMs = before === undefined ? FIRST_MS : Math.min(LONGEST_MS, before * 2);
    this.#entries.set(key, { delayMs, since: now });
  }
}
