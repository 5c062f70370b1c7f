import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { ReceivedRequest } from '@tidegate/kube/testing';

export const ISSUER = 'https://kubernetes.default.svc.cluster.local';

/** Signs tokens as an API server does, publishes its keys, and reviews tokens. */
export class TokenAuthority {
  /** Opaque tokens that the API server accepts, and tokens that it no longer accepts. */
  readonly accepted = new Set<string>();
  readonly rejected = new Set<string>();
  /** How many TokenReviews were answered. */
  reviews = 0;
  /** The audiences of the API server. */
  audiences: string[] = [ISSUER];
  readonly #keys: { id: string; privateKey: KeyObject; publicKey: KeyObject }[] = [];

  constructor() {
    this.rotate();
  }

  /** Signs later tokens with a new key. Earlier keys stay published. */
  rotate(): void {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#keys.push({ id: randomUUID(), ...pair });
  }

  /** Times are in milliseconds since the epoch. */
  issue(claims: {
    expires: number;
    notBefore?: number;
    name?: string;
    aud?: unknown;
    iss?: string;
    pod?: { name: string; uid: string };
  }): string {
    const { id, privateKey } = this.#keys.at(-1)!;
    const { expires, notBefore = 0, name = 'web', aud = [ISSUER], iss = ISSUER, pod } = claims;
    const payload = {
      iss,
      aud,
      exp: Math.floor(expires / 1000),
      nbf: Math.floor(notBefore / 1000),
      jti: randomUUID(),
      sub: `system:serviceaccount:shop:${name}`,
      'kubernetes.io': { namespace: 'shop', pod, serviceaccount: { name, uid: `uid-of-${name}` } },
    };
    const text = [{ alg: 'ES256', kid: id }, payload]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  /** Returns the two documents of issuer discovery, and TokenReviews; undefined for every other path. */
  answer({ url, body }: ReceivedRequest): object | undefined {
    if (url.pathname.endsWith('/tokenreviews')) return this.#review(JSON.parse(body).spec.token);
    if (url.pathname === '/.well-known/openid-configuration') return { issuer: ISSUER };
    if (url.pathname !== '/openid/v1/jwks') return undefined;
    const keys = this.#keys.map(({ id, publicKey }) => ({
      use: 'sig',
      kid: id,
      alg: 'ES256',
      ...publicKey.export({ format: 'jwk' }),
    }));
    return { keys };
  }

  /** Reads the claims without verifying them: the tests present no forged tokens here. */
  #review(token: string): object {
    this.reviews++;
    const review = { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1' };
    const refused = { ...review, status: { error: 'invalid bearer token' } };
    const [signed] = token.split(/\.[^.]*$/);
    if ([...this.rejected].some((other) => other.startsWith(`${signed}`))) return refused;
    if (this.accepted.has(token))
      return { ...review, status: { authenticated: true, user: { username: 'jane' } } };
    const [, claims = ''] = token.split('.');
    const {
      sub,
      aud,
      'kubernetes.io': bound,
    } = claims === '' ? {} : JSON.parse(Buffer.from(claims, 'base64url').toString());
    const audiences = [aud].flat().filter((audience) => this.audiences.includes(audience));
    if (audiences.length === 0) return refused;
    const user = { username: sub, uid: bound.serviceaccount.uid };
    return { ...review, status: { authenticated: true, user, audiences } };
  }
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The same token with another last character, which lenient decoders read as the same bytes. */
export const otherSpelling = (token: string): string =>
  `${token.slice(0, -1)}${ALPHABET[ALPHABET.indexOf(token.at(-1) ?? '') ^ 1]}`;
