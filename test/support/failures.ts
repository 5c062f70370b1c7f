interface Kind {
  count: number;
  first: Date;
  last: Date;
}

/** Hundreds of requests fail for one reason. A test that fails shows each reason once, with the time of the first and the last failure. */
export class Failures {
  readonly #kinds = new Map<string, Kind>();

  add(what: string): void {
    const at = new Date();
    const kind = this.#kinds.get(what);
    if (kind === undefined) this.#kinds.set(what, { count: 1, first: at, last: at });
    else this.#kinds.set(what, { ...kind, count: kind.count + 1, last: at });
  }

  toString(): string {
    return [...this.#kinds]
      .map(
        ([what, { count, first, last }]) =>
          `${count}x ${what} (${first.toISOString()} to ${last.toISOString()})`,
      )
      .join('\n');
  }
}
