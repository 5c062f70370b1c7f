import { decodeJwt } from 'jose';

/** The claims of a service account token. Do not use them before the signature is verified. */
export interface ServiceAccountClaims {
  issuer: string;
  audiences: readonly string[];
  /** In milliseconds since the epoch; 0 without the claim `nbf`. */
  notBefore: number;
  /** In milliseconds since the epoch. */
  expires: number;
  namespace: string;
  name: string;
  uid: string;
}

/**
 * The moments at which a token must be valid, in milliseconds since the epoch. They are the same while an API server is
 * reachable. While none is, clients cannot renew their tokens, so `expiry` is the time of the last contact.
 */
export interface ValidityTimes {
  now: number;
  expiry: number;
}

/** The clocks of signer and verifier may differ by this much. The API server allows the same. */
export const LEEWAY_SECONDS = 60;
const LEEWAY_MS = LEEWAY_SECONDS * 1000;

/**
 * Returns undefined for every other token: opaque tokens, tokens of other types, and legacy service account
 * tokens from Secrets. Legacy tokens have no audience and do not expire. Only the API server can authenticate
 * them, because they are valid for as long as the Secret exists.
 */
export function readClaims(token: string): ServiceAccountClaims | undefined {
  const { iss, aud, exp, nbf, 'kubernetes.io': bound } = payloadOf(token);
  const { namespace, serviceaccount } = fieldsOf(bound);
  const { name, uid } = fieldsOf(serviceaccount);
  const audiences = typeof aud === 'string' ? [aud] : aud;
  if (typeof iss !== 'string' || typeof exp !== 'number' || !isStrings(audiences)) return undefined;
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') return undefined;
  const notBefore = typeof nbf === 'number' ? nbf * 1000 : 0;
  return { issuer: iss, audiences, notBefore, expires: exp * 1000, namespace, name, uid };
}

/** Whether a token with these claims is valid at the given times. Does not verify the signature. */
export const isTimely = ({ notBefore, expires }: ServiceAccountClaims, times: ValidityTimes): boolean =>
  notBefore <= times.now + LEEWAY_MS && expires > times.expiry - LEEWAY_MS;

/** The key of the identity. It contains the uid, so a new account of the same name is another identity. */
export const serviceAccountKey = ({ namespace, name, uid }: ServiceAccountClaims): string =>
  `sa:${namespace}:${name}:${uid}`;

/** `system:serviceaccount:...` for the key of a service account, undefined for any other. */
export function usernameOf(identityKey: string): string | undefined {
  const [kind, namespace, name] = identityKey.split(':');
  return kind === 'sa' ? `system:serviceaccount:${namespace}:${name}` : undefined;
}

function payloadOf(token: string): Record<string, unknown> {
  try {
    return decodeJwt(token);
  } catch {
    return {}; // Not a JWT.
  }
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
