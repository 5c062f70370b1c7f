/** The key that signs service account tokens: compact JWTs, with RS256 for an RSA key and ES256 for a P-256 key. */
import { createHash, createPublicKey, type JsonWebKey, type KeyObject, sign, verify } from 'node:crypto';
import { jwtPart } from '@tidegate/serving';

export interface JsonWebKeySet {
  keys: JsonWebKey[];
}

/** Signs and verifies tokens with one key. */
export class ServiceAccountKey {
  readonly algorithm: 'RS256' | 'ES256';
  /** Hash of the public key, computed as in kube-apiserver. */
  readonly keyId: string;
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  constructor(privateKey: KeyObject) {
    this.algorithm = algorithmOf(privateKey);
    this.#privateKey = privateKey;
    this.#publicKey = createPublicKey(privateKey);
    const der = this.#publicKey.export({ type: 'spki', format: 'der' });
    this.keyId = createHash('sha256').update(der).digest('base64url');
  }

  /** Signs the claims as a compact JWT. */
  sign(claims: object): string {
    const head = encode({ alg: this.algorithm, kid: this.keyId });
    const text = `${head}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(text), { key: this.#privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  /**
   * The key determines the algorithm, never the header of the token, so that a forged header cannot select a weaker
   * one.
   */
  verifies(token: string): boolean {
    const dot = token.lastIndexOf('.');
    const header = jwtPart(token, 0);
    if (dot < 0 || header === undefined || header.alg !== this.algorithm) return false;
    if (header.kid !== undefined && header.kid !== this.keyId) return false;
    const signature = Buffer.from(token.slice(dot + 1), 'base64url');
    const key = { key: this.#publicKey, dsaEncoding: 'ieee-p1363' as const };
    return verify('sha256', Buffer.from(token.slice(0, dot)), key, signature);
  }

  /** The public key, for programs that verify tokens themselves. */
  jwks(): JsonWebKeySet {
    const jwk = this.#publicKey.export({ format: 'jwk' });
    return { keys: [{ use: 'sig', kty: jwk.kty, kid: this.keyId, alg: this.algorithm, ...jwk }] };
  }
}

function algorithmOf(key: KeyObject): 'RS256' | 'ES256' {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw new Error(`the service account key must be RSA or ECDSA on P-256, not ${key.asymmetricKeyType}`);
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
