/** Limits the memory that the bodies of reviews occupy while they are read and evaluated. */
export class BodyMemory {
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Reserves memory for a part of a body. False if all bodies together would need too much. */
  reserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.#mostBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}
