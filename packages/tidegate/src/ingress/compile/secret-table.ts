import { createHash } from 'node:crypto';
import { keyOf, type Secret } from '@tidegate/kube';
import { InvalidSecretError, readTlsSecret, type TlsSecret } from './tls-secret.ts';

/** The last known state of a Secret. */
export interface SecretState {
  /** Hash of the content. Parsing is expensive, and every list delivers all Secrets again. */
  readonly digest: string;
  /** The last valid content. It is served even if the current content is invalid. */
  readonly good?: TlsSecret;
  /** Why the current content is invalid. */
  readonly wrong?: string;
}

/** Parsed Secrets. A Secret is parsed only when its content changes. */
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
