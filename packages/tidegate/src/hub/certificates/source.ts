import type { KeyPair } from '@tidegate/kube/certificates';

/** Where a certificate comes from that may be replaced while it is used. */
export interface CertificateSource {
  /** Undefined until there is one. */
  readonly current: KeyPair | undefined;
  /** Why there is none that is in date; undefined when there is. */
  readonly waitingFor: string | undefined;
  /** Called with every certificate that comes after `current`. Returns how to stop that. */
  onChange(listener: (pair: KeyPair) => void): () => void;
  /** Keeps it current until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export class Subscribers<V> {
  readonly #subscribers = new Set<(value: V) => void>();

  add(listener: (value: V) => void): () => void {
    this.#subscribers.add(listener);
    return () => this.#subscribers.delete(listener);
  }

  tell(value: V): void {
    for (const listener of [...this.#subscribers]) listener(value);
  }
}
