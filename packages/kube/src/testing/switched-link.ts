import type { Link } from '../informer/link.ts';

/** A link that a test switches off and on. */
export class SwitchedLink implements Link {
  online = true;
  readonly #listeners = new Set<() => void>();

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  turn(online: boolean): void {
    this.online = online;
    for (const listener of [...this.#listeners]) listener();
  }
}
