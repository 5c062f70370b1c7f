import type { ConnectionState } from '../informer/connection-state.ts';

/** A connection that a test switches off and on. */
export class SwitchedConnection implements ConnectionState {
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
