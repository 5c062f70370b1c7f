import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import type { KubeObject } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UserInfo } from '../resources/types.ts';
import { Authenticator } from './authenticate.ts';
import { openPki, type Pki } from './pki.ts';
import { type ObjectStore, openObjects } from './testing.ts';
import { ServiceAccountTokens } from './tokens.ts';

const directory = mkdtempSync(join(tmpdir(), 'authn-'));
let store: ObjectStore;
let clock = 0;
const now = (): Date => new Date(Date.now() + clock);
let pki: Pki;
let tokens: ServiceAccountTokens;
let server: Server;

beforeAll(async () => {
  store = await openObjects();
  pki = openPki({ directory });
  tokens = new ServiceAccountTokens({ key: pki.serviceAccountKey, store, issuer: 'https://here', now });
  const staticTokens = new Map([['s3cret', { username: 'bootstrap', groups: ['boot'] }]]);
  const authenticator = new Authenticator({ tokens, staticTokens, now });
  server = createServer(
    {
      cert: pki.serving.certificate,
      key: pki.serving.key,
      ca: pki.ca,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (incoming, response) => {
      try {
        const user = authenticator.authenticate(incoming.socket as TLSSocket, incoming.headers);
        response.end(JSON.stringify(user));
      } catch (error) {
        response.statusCode = error instanceof ApiError ? error.status.code : 500;
        response.end(JSON.stringify({ error: String(error) }));
      }
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true });
  await store.dispose();
});

/** The user that the server authenticates, or the status code of the rejection. */
function authenticatedUser(client: {
  pair?: { certificate: string; key: string };
  authorization?: string;
}): Promise<UserInfo | number> {
  const { port } = server.address() as { port: number };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        ca: pki.ca,
        cert: client.pair?.certificate,
        key: client.pair?.key,
        agent: false,
        headers: client.authorization === undefined ? {} : { authorization: client.authorization },
      },
      (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve(response.statusCode === 200 ? (JSON.parse(text) as UserInfo) : response.statusCode!),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}

describe('client certificates', () => {
  it('map the common name to the user and the organizations to groups', async () => {
    expect(await authenticatedUser({ pair: pki.admin })).toEqual({
      username: 'kubernetes-admin',
      groups: ['system:masters', 'system:authenticated'],
      extra: {
        'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)],
      },
    });
    const jane = pki.issueClientCertificate({ commonName: 'jane', organizations: ['dev', 'ops'], days: 1 });
    expect(await authenticatedUser({ pair: jane })).toMatchObject({
      username: 'jane',
      groups: ['dev', 'ops', 'system:authenticated'],
    });
  });

  it('of another authority are rejected, even for system:masters', async () => {
    const stranger = openPki({ directory: join(directory, 'stranger') });
    expect(await authenticatedUser({ pair: stranger.admin })).toBe(401);
  });

  it('reject the serving certificate', async () => {
    expect(await authenticatedUser({ pair: pki.serving })).toBe(401);
  });

  it('reject an expired certificate', async () => {
    const brief = pki.issueClientCertificate({ commonName: 'brief', organizations: [], days: 1 });
    clock = 2 * 24 * 3600 * 1000;
    expect(await authenticatedUser({ pair: brief })).toBe(401);
    clock = 0;
  });
});

describe('bearer tokens', () => {
  const account: KubeObject = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'robot', namespace: 'shop', uid: 'u1' },
  };
  const issue = (): string =>
    tokens.issue({
      subject: { namespace: 'shop', serviceAccount: { name: 'robot', uid: 'u1' } },
      audiences: ['https://here'],
      expirationSeconds: 3600,
    });

  it('of a service account are valid until it is deleted', async () => {
    await store.put('serviceaccounts', account);
    const authorization = `Bearer ${issue()}`;
    expect(await authenticatedUser({ authorization })).toMatchObject({
      username: 'system:serviceaccount:shop:robot',
    });
    await store.remove('serviceaccounts', account);
    expect(await authenticatedUser({ authorization })).toBe(401);
  });

  it('can be static', async () => {
    expect(await authenticatedUser({ authorization: 'bearer s3cret' })).toEqual({
      username: 'bootstrap',
      groups: ['boot', 'system:authenticated'],
    });
  });

  it('that are invalid are rejected, not treated as anonymous', async () => {
    expect(await authenticatedUser({ authorization: 'Bearer nonsense' })).toBe(401);
  });

  it('are ignored if the client has a certificate', async () => {
    expect(await authenticatedUser({ pair: pki.admin, authorization: 'Bearer s3cret' })).toMatchObject({
      username: 'kubernetes-admin',
    });
  });
});

it('treats a request without credentials as anonymous', async () => {
  const anonymous = { username: 'system:anonymous', groups: ['system:unauthenticated'] };
  expect(await authenticatedUser({})).toEqual(anonymous);
  expect(await authenticatedUser({ authorization: 'Basic abc' })).toEqual(anonymous);
});
