import type { KeyPair } from '../../kube/index.ts';

/** Where a certificate comes from that may be replaced while it is used. */
export interface CertificateSource {
  /** Undefined until there is one. */
  readonly current: KeyPair | undefined;
  /** Why there is none, or not yet the one that is wanted; undefined when all is well. */
  readonly waitingFor: string | undefined;
  /** Called with every certificate that comes after `current`. Returns how to stop that. */
  onChange(listener: (pair: KeyPair) => void): () => void;
  /** Keeps it current until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export class Listeners<V> {
  readonly #listeners = new Set<(value: V) => void>();

  add(listener: (value: V) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(value: V): void {
    for (const listener of [...this.#listeners]) listener(value);
  }
}
