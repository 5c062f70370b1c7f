import type { KeyPair } from '@tidegate/kube/certificates';

/** A certificate that may be replaced while it is in use. */
export interface CertificateSource {
  /** The newest certificate; undefined until there is one. */
  readonly current: KeyPair | undefined;
  /** Why there is no certificate that has not expired; undefined if there is one. */
  readonly waitingFor: string | undefined;
  /** Calls the listener with each later certificate. Returns a function that removes the listener. */
  onChange(listener: (pair: KeyPair) => void): () => void;
  /** Keeps the certificate current until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/** Listeners for a value. A listener may remove itself while it is called. */
export class Subscribers<V> {
  readonly #subscribers = new Set<(value: V) => void>();

  add(listener: (value: V) => void): () => void {
    this.#subscribers.add(listener);
    return () => this.#subscribers.delete(listener);
  }

  notify(value: V): void {
    for (const listener of [...this.#subscribers]) listener(value);
  }
}
