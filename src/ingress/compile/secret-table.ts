import { keyOf, type Secret } from '../../kube/index.ts';
import { InvalidSecretError, readTlsSecret, type TlsSecret } from './tls-secret.ts';

export interface SecretState {
  /** What is served: the last that was good, even if what is there now is not. */
  readonly good?: TlsSecret;
  readonly wrong?: string;
}

/** Secrets as far as they can be served. Each is read once, when it comes. */
export class SecretTable {
  readonly #secrets = new Map<string, SecretState>();

  get(key: string): SecretState | undefined {
    return this.#secrets.get(key);
  }

  put(secret: Secret): void {
    const key = keyOf(secret);
    try {
      this.#secrets.set(key, { good: readTlsSecret(secret) });
    } catch (error) {
      if (!(error instanceof InvalidSecretError)) throw error;
      const last = this.#secrets.get(key)?.good;
      this.#secrets.set(key, { ...(last && { good: last }), wrong: error.message });
    }
  }

  remove(key: string): boolean {
    return this.#secrets.delete(key);
  }
}
