import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { ReceivedRequest } from '@tidegate/kube/testing';

export const ISSUER = 'https://kubernetes.default.svc.cluster.local';

/** Signs tokens as an API server does, and publishes its keys. */
export class TokenAuthority {
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
  issue(claims: { expires: number; notBefore?: number; name?: string; aud?: unknown; iss?: string }): string {
    const { id, privateKey } = this.#keys.at(-1)!;
    const { expires, notBefore = 0, name = 'web', aud = [ISSUER], iss = ISSUER } = claims;
    const payload = {
      iss,
      aud,
      exp: Math.floor(expires / 1000),
      nbf: Math.floor(notBefore / 1000),
      jti: randomUUID(),
      sub: `system:serviceaccount:shop:${name}`,
      'kubernetes.io': { namespace: 'shop', serviceaccount: { name, uid: `uid-of-${name}` } },
    };
    const text = [{ alg: 'ES256', kid: id }, payload]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  /** Returns the two documents of issuer discovery; undefined for every other path. */
  answer({ url }: ReceivedRequest): object | undefined {
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
}
