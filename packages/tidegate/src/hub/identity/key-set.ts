/** The public keys that service account tokens are signed with, as the API server tells them. */
import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { jwtPart } from '@tidegate/serving';

interface VerificationKey {
  id: string | undefined;
  algorithms: readonly string[];
  key: KeyObject;
}

const HASHES: Readonly<Record<string, string>> = {
  RS256: 'sha256',
  RS384: 'sha384',
  RS512: 'sha512',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
};

const CURVES: Readonly<Record<string, string>> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' };

export class KeySet {
  readonly #keys: readonly VerificationKey[];

  /** `jwks` as it came over the wire. Keys of kinds that are not known here are passed over. */
  constructor(jwks: unknown) {
    const { keys } = (typeof jwks === 'object' && jwks !== null ? jwks : {}) as { keys?: unknown };
    if (!Array.isArray(keys)) throw new Error('the key set of the API server has no list of keys');
    this.#keys = (keys as JsonWebKey[]).flatMap(readKey);
  }

  /** Whether a key that signed `token` may be among these. */
  knows(token: string): boolean {
    return this.#candidates(token).length > 0;
  }

  verifies(token: string): boolean {
    const dot = token.lastIndexOf('.');
    const algorithm = jwtPart(token, 0)?.alg;
    if (dot < 0 || typeof algorithm !== 'string') return false;
    const signed = Buffer.from(token.slice(0, dot));
    const signature = Buffer.from(token.slice(dot + 1), 'base64url');
    // The algorithm must be one of the key's own: a forged header can not choose a weaker one.
    return this.#candidates(token).some(
      ({ algorithms, key }) =>
        algorithms.includes(algorithm) &&
        verify(HASHES[algorithm], signed, { key, dsaEncoding: 'ieee-p1363' }, signature),
    );
  }

  /** A token that names no key may be signed with any. */
  #candidates(token: string): readonly VerificationKey[] {
    const header = jwtPart(token, 0);
    if (header === undefined) return [];
    return header.kid === undefined ? this.#keys : this.#keys.filter(({ id }) => id === header.kid);
  }
}

function readKey(jwk: JsonWebKey): VerificationKey[] {
  if ((jwk.use ?? 'sig') !== 'sig') return [];
  const possible = algorithmsOf(jwk);
  const algorithms = jwk.alg === undefined ? possible : possible.filter((name) => name === jwk.alg);
  if (algorithms.length === 0) return [];
  const id = typeof jwk.kid === 'string' ? jwk.kid : undefined;
  return [{ id, algorithms, key: createPublicKey({ key: jwk, format: 'jwk' }) }];
}

function algorithmsOf({ kty, crv }: JsonWebKey): string[] {
  if (kty === 'RSA') return ['RS256', 'RS384', 'RS512'];
  const algorithm = kty === 'EC' ? CURVES[crv ?? ''] : undefined;
  return algorithm === undefined ? [] : [algorithm];
}
