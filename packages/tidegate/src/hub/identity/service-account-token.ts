import { jwtPart } from '@tidegate/serving';

/** What a token of a service account says of its holder. Nothing of it counts before the signature was verified. */
export interface ServiceAccountClaims {
  issuer: string;
  audiences: readonly string[];
  /** Milliseconds since the epoch. */
  notBefore: number;
  expires: number;
  namespace: string;
  name: string;
  uid: string;
}

/** Signer and verifier may differ by this much in time, as the API server allows too. */
const LEEWAY_MS = 60_000;

/**
 * Undefined for every other token: for opaque ones, for those of other issuers, and for the old kind that has neither an
 * audience nor an end, which only the API server can judge since it looks whether the Secret is still there.
 */
export function readClaims(token: string): ServiceAccountClaims | undefined {
  const { iss, aud, exp, nbf, 'kubernetes.io': bound } = jwtPart(token, 1) ?? {};
  const { namespace, serviceaccount } = fieldsOf(bound);
  const { name, uid } = fieldsOf(serviceaccount);
  const audiences = typeof aud === 'string' ? [aud] : aud;
  if (typeof iss !== 'string' || typeof exp !== 'number' || !isStrings(audiences)) return undefined;
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') return undefined;
  const notBefore = typeof nbf === 'number' ? nbf * 1000 : 0;
  return { issuer: iss, audiences, notBefore, expires: exp * 1000, namespace, name, uid };
}

/** `at`: the moment by which the token must not have expired. */
export const isExpired = ({ expires }: ServiceAccountClaims, at: number): boolean => at - LEEWAY_MS > expires;

export const isEarly = ({ notBefore }: ServiceAccountClaims, now: number): boolean =>
  now + LEEWAY_MS < notBefore;

/** The part of an identity's key that says who it is; the API server's name for it can be made of it. */
export const serviceAccountKey = ({ namespace, name, uid }: ServiceAccountClaims): string =>
  `sa:${namespace}:${name}:${uid}`;

/** `system:serviceaccount:...` for the key of a service account, undefined for any other. */
export function usernameOf(identityKey: string): string | undefined {
  const [kind, namespace, name] = identityKey.split(':');
  return kind === 'sa' ? `system:serviceaccount:${namespace}:${name}` : undefined;
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
