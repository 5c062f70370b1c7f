/** A random number generator that repeats with the same seed (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0 and less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Less than `end`. */
  integer(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** True in `part` of 100 cases. */
  percent(part: number): boolean {
    return this.next() * 100 < part;
  }

  of<T>(choices: readonly T[]): T {
    const choice = choices[this.integer(choices.length)];
    if (choice === undefined) throw new Error('the list of choices is empty');
    return choice;
  }

  some<T>(choices: readonly T[], part = 50): T[] {
    return choices.filter(() => this.percent(part));
  }

  /** An independent generator for concurrent work: its draws do not change those of others. */
  fork(): Chance {
    return new Chance(this.integer(2 ** 32));
  }
}
