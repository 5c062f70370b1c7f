import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import type { KubeObject } from '@tidegate/kube';
import { jwtPart } from '@tidegate/serving';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext, UserInfo } from '../resources/types.ts';
import { openIdDocuments } from './openid.ts';
import { ServiceAccountKey } from './service-account-key.ts';
import { type ObjectStore, openObjects } from './testing.ts';
import { tokenRequestHandler } from './token-request.ts';
import { ServiceAccountTokens } from './tokens.ts';

const ISSUER = 'https://kubernetes.default.svc.cluster.local';
const key = new ServiceAccountKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);

const account: KubeObject = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'robot', namespace: 'shop', uid: 'sa-uid' },
};
const pod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'shop', uid: 'pod-uid' },
  spec: { serviceAccountName: 'robot', nodeName: 'n1' },
};
const node: KubeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'node-uid' } };

let store: ObjectStore;
let now: Date;
let tokens: ServiceAccountTokens;
beforeEach(async () => {
  store = await openObjects();
  now = new Date('2026-01-01T00:00:00Z');
  tokens = new ServiceAccountTokens({ key, store, issuer: ISSUER, now: () => now });
  await store.put('serviceaccounts', account);
  await store.put('pods', pod);
  await store.put('nodes', node);
  return () => store.dispose();
});

const pass = (seconds: number): void => {
  now = new Date(now.getTime() + seconds * 1000);
};

const jane: UserInfo = { username: 'jane', groups: [] };

async function request(spec: object, metadata: object = {}, user = jane): Promise<KubeObject> {
  const context: RequestContext = {
    user,
    now,
    store,
    dryRun: false,
    warn: () => {},
  };
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata, spec };
  const answer = await tokenRequestHandler(tokens)({ verb: 'create', parent: account, body, context });
  return answer.respond!;
}

const tokenIn = (answer: KubeObject): string => (answer.status as { token: string }).token;
const podRef = { kind: 'Pod', apiVersion: 'v1', name: 'p' };

describe('TokenRequest', () => {
  it('returns the same response as kube-apiserver', async () => {
    const answer = await request({});
    const token = tokenIn(answer);
    expect(answer).toEqual({
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {
        name: 'robot',
        namespace: 'shop',
        uid: 'sa-uid',
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      spec: { audiences: [ISSUER], expirationSeconds: 3600, boundObjectRef: null },
      status: { token, expirationTimestamp: '2026-01-01T01:00:00Z' },
    });
    expect(jwtPart(token, 0)).toEqual({ alg: 'ES256', kid: key.keyId });
    expect(jwtPart(token, 1)).toEqual({
      aud: [ISSUER],
      exp: 1767229200,
      iat: 1767225600,
      iss: ISSUER,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'robot', uid: 'sa-uid' } },
      nbf: 1767225600,
      sub: 'system:serviceaccount:shop:robot',
    });
  });

  it.each([
    [
      { expirationSeconds: 300 },
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 300: may not specify a duration less than 10 minutes',
    ],
    [{ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'gone' } }, 'pods "gone" not found'],
    [{ boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'gone' } }, 'nodes "gone" not found'],
    [
      { boundObjectRef: { kind: 'Deployment', apiVersion: 'apps/v1', name: 'd' } },
      'cannot bind token to object of type apps/v1, Kind=Deployment',
    ],
    [
      { boundObjectRef: { ...podRef, uid: 'other' } },
      'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (other) does not match the UID in record. The object might have been deleted and then recreated',
    ],
  ])('rejects %j', async (spec, message) => {
    await expect(request(spec)).rejects.toThrow(message);
  });

  it('rejects a binding to a pod of another service account', async () => {
    await store.put('pods', { ...pod, spec: { serviceAccountName: 'other' } });
    await expect(request({ boundObjectRef: podRef })).rejects.toThrow(
      'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
    );
  });

  it('rejects a request that names another service account', async () => {
    await expect(request({}, { name: 'other' })).rejects.toThrow(
      'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified',
    );
  });

  it('extends the token of a kubelet to a year and sets the time after which to warn', async () => {
    const answer = await request({ boundObjectRef: podRef, expirationSeconds: 3607 });
    const claims = jwtPart(tokenIn(answer), 1) as {
      exp: number;
      iat: number;
      'kubernetes.io': { warnafter: number };
    };
    expect(claims.exp - claims.iat).toBe(365 * 24 * 3600);
    expect(claims['kubernetes.io'].warnafter - claims.iat).toBe(3607);
  });
});

describe('a node', () => {
  const as = (name: string): UserInfo => ({ username: `system:node:${name}`, groups: ['system:nodes'] });

  it('can request only tokens that are bound to its own pods', async () => {
    const bound = { ...podRef, uid: 'pod-uid' };
    expect(await request({ boundObjectRef: bound }, {}, as('n1'))).toHaveProperty('status.token');
    const head = 'serviceaccounts "robot" is forbidden: node requested token';
    await expect(request({}, {}, as('n1'))).rejects.toThrow(`${head} not bound to a pod`);
    await expect(request({ boundObjectRef: podRef }, {}, as('n1'))).rejects.toThrow(
      `${head} with a pod binding without a uid`,
    );
    await expect(request({ boundObjectRef: bound }, {}, as('n2'))).rejects.toThrow(
      `${head} bound to a pod scheduled on a different node`,
    );
  });
});

describe('verification', () => {
  it('returns the user with details of its pod', async () => {
    const token = tokenIn(await request({ boundObjectRef: podRef }));
    const { jti } = jwtPart(token, 1) as { jti: string };
    expect(tokens.verify(token)).toEqual({
      user: {
        username: 'system:serviceaccount:shop:robot',
        uid: 'sa-uid',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'],
        extra: {
          'authentication.kubernetes.io/credential-id': [`JTI=${jti}`],
          'authentication.kubernetes.io/pod-name': ['p'],
          'authentication.kubernetes.io/pod-uid': ['pod-uid'],
          'authentication.kubernetes.io/node-name': ['n1'],
          'authentication.kubernetes.io/node-uid': ['node-uid'],
        },
      },
      audiences: [ISSUER],
    });
  });

  it('fails after the token, the account or the bound object is gone, even if the signature is cached', async () => {
    const free = tokenIn(await request({}));
    const bound = tokenIn(await request({ boundObjectRef: podRef }));
    expect(tokens.verify(free)).toHaveProperty('user');
    expect(tokens.verify(bound)).toHaveProperty('user');

    await store.remove('pods', pod);
    expect(tokens.verify(bound)).toEqual({ error: 'service account token has been invalidated' });
    await store.put('pods', { ...pod, metadata: { ...pod.metadata, uid: 'new' } });
    expect(tokens.verify(bound)).toEqual({
      error: 'pod UID (new) does not match service account pod ref claim (pod-uid)',
    });

    await store.put('serviceaccounts', { ...account, metadata: { ...account.metadata, uid: 'new' } });
    expect(tokens.verify(free)).toEqual({ error: 'service account UID (new) does not match claim (sa-uid)' });
    await store.remove('serviceaccounts', account);
    expect(tokens.verify(free)).toEqual({ error: 'serviceaccounts "robot" not found' });

    await store.put('serviceaccounts', account);
    pass(3600 + 59);
    expect(tokens.verify(free)).toHaveProperty('user');
    pass(2);
    expect(tokens.verify(free)).toEqual({ error: 'service account token has expired' });
  });

  it('accepts the token of a deleted account for one minute', async () => {
    const token = tokenIn(await request({}));
    await store.put('serviceaccounts', {
      ...account,
      metadata: { ...account.metadata, deletionTimestamp: now.toISOString() },
    });
    expect(tokens.verify(token)).toHaveProperty('user');
    pass(61);
    expect(tokens.verify(token)).toEqual({ error: 'service account shop/robot has been deleted' });
  });

  it('checks the audience', async () => {
    const token = tokenIn(await request({ audiences: ['foo'] }));
    expect(tokens.verify(token)).toEqual({
      error: `token audiences ["foo"] is invalid for the target audiences ["${ISSUER}"]`,
    });
    expect(tokens.verify(token, ['foo', 'bar'])).toMatchObject({ audiences: ['foo'] });
  });

  it('rejects a changed payload, another key and another algorithm', async () => {
    const token = tokenIn(await request({}));
    const [head, payload, signature] = token.split('.') as [string, string, string];
    const claims = { ...jwtPart(token, 1), sub: 'system:serviceaccount:kube-system:admin' };
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = [
      `${head}.${encode(claims)}.${signature}`,
      `${encode({ alg: 'none' })}.${payload}.`,
      `${encode({ alg: 'HS256', kid: key.keyId })}.${payload}.${signature}`,
      new ServiceAccountKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey).sign(claims),
    ];
    for (const bad of forged) expect(tokens.verify(bad)).toHaveProperty('error');
    for (const bad of ['', 'abc', 'a.b.c', `${head}.${payload}`]) expect(tokens.verify(bad)).toBeUndefined();
  });
});

describe('discovery', () => {
  it('allows other programs to verify a token', async () => {
    const { configuration, jwks } = openIdDocuments(key, ISSUER, 'https://127.0.0.1:6443');
    expect(configuration).toEqual({
      issuer: ISSUER,
      jwks_uri: 'https://127.0.0.1:6443/openid/v1/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    });
    const [jwk] = jwks.keys;
    expect(jwk).toMatchObject({ use: 'sig', kty: 'EC', kid: key.keyId, alg: 'ES256', crv: 'P-256' });
    const token = tokenIn(await request({}));
    const dot = token.lastIndexOf('.');
    const publicKey = createPublicKey({ key: jwk!, format: 'jwk' });
    const signature = Buffer.from(token.slice(dot + 1), 'base64url');
    const data = Buffer.from(token.slice(0, dot));
    expect(verify('sha256', data, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
  });

  it('supports RSA keys', () => {
    const rsa = new ServiceAccountKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey);
    const token = rsa.sign({ a: 1 });
    expect(jwtPart(token, 0)).toEqual({ alg: 'RS256', kid: rsa.keyId });
    expect(rsa.verifies(token)).toBe(true);
  });
});
