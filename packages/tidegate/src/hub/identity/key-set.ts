import { ownField } from '@tidegate/kube';
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';

/** What Kubernetes signs service account tokens with. A token cannot choose a weaker algorithm, or none. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'];
const CURVES: Readonly<Record<string, string>> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' };

/** Selects the key for a token. */
type GetKey = JWTVerifyGetKey;

/** The public keys of service account tokens, as the API server publishes them at /openid/v1/jwks. */
export class KeySet {
  readonly #ids: readonly (string | undefined)[];
  readonly #getKey: GetKey;

  private constructor(keys: JWK[]) {
    this.#ids = keys.map(({ kid }) => kid);
    this.#getKey = createLocalJWKSet({ keys });
  }

  /** Ignores keys of other kinds and for other purposes. Rejects if `jwks` is not a key set, or if a key is malformed. */
  static async open(jwks: unknown): Promise<KeySet> {
    const { keys } = (typeof jwks === 'object' && jwks !== null ? jwks : {}) as Partial<JSONWebKeySet>;
    if (!Array.isArray(keys)) throw new Error('the key set of the API server has no list of keys');
    const usable = keys.filter((jwk) => (jwk.use ?? 'sig') === 'sig' && algorithmOf(jwk) !== undefined);
    // Keys are imported when they are first used. Importing them here finds a malformed one before the set is in use.
    await Promise.all(usable.map((jwk) => importJWK(jwk, algorithmOf(jwk))));
    return new KeySet(usable);
  }

  /** Whether the key that the token names is in the set. A token that names no key may be signed with any of them. */
  knows(token: string): boolean {
    try {
      const { kid } = decodeProtectedHeader(token);
      return kid === undefined ? this.#ids.length > 0 : this.#ids.includes(kid);
    } catch {
      return false; // Not a JWT.
    }
  }

  /** Verifies the signature and the claims. Rejects with an error of jose. */
  async verify(token: string, options: JWTVerifyOptions): Promise<void> {
    await this.#withKeys((getKey) => jwtVerify(token, getKey, { ...options, algorithms: ALGORITHMS }));
  }

  /** jose selects the key by the header of the token. If several keys fit, the caller has to try each of them. */
  async #withKeys(verify: (getKey: GetKey) => Promise<unknown>): Promise<void> {
    try {
      await verify(this.#getKey);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const key of error) if (await verifies(verify(async () => key))) return;
      throw new errors.JWSSignatureVerificationFailed();
    }
  }
}

/** False if the signature is not of this key. */
async function verifies(verified: Promise<unknown>): Promise<boolean> {
  try {
    await verified;
    return true;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return false;
    throw error;
  }
}

/** An algorithm that the key can be used with; undefined for keys of other kinds. */
function algorithmOf({ kty, crv, alg }: JWK): string | undefined {
  const possible = kty === 'RSA' ? 'RS256' : kty === 'EC' ? ownField(CURVES, crv ?? '') : undefined;
  if (alg === undefined || possible === undefined) return possible;
  const fits = kty === 'RSA' ? /^RS(256|384|512)$/.test(alg) : alg === possible;
  return fits ? alg : undefined;
}
