import { createHash } from 'node:crypto';
import { keyOf, type Secret } from '@tidegate/kube';
import { InvalidSecretError, readTlsSecret, type TlsSecret } from './tls-secret.ts';

export interface SecretState {
  /** Of what it was read from: certificates take long to read, and come again with every list. */
  readonly digest: string;
  /** What is served: the last that was good, even if what is there now is not. */
  readonly good?: TlsSecret;
  readonly wrong?: string;
}

/** Secrets as far as they can be served. Each is read when it comes, and then when it changes. */
export class SecretTable {
  readonly #secrets = new Map<string, SecretState>();

  get(key: string): SecretState | undefined {
    return this.#secrets.get(key);
  }

  put(secret: Secret): void {
    const key = keyOf(secret);
    const digest = digestOf(secret);
    const known = this.#secrets.get(key);
    if (known?.digest === digest) return;
    try {
      this.#secrets.set(key, { digest, good: readTlsSecret(secret) });
    } catch (error) {
      if (!(error instanceof InvalidSecretError)) throw error;
      this.#secrets.set(key, { digest, ...(known?.good && { good: known.good }), wrong: error.message });
    }
  }

  remove(key: string): boolean {
    return this.#secrets.delete(key);
  }
}

const digestOf = ({ type, data }: Secret): string =>
  createHash('sha256')
    .update(JSON.stringify([type, data?.['tls.crt'], data?.['tls.key']]))
    .digest('base64');
