import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { KubeClient, silentLogger } from '@tidegate/kube';
import { answerJson, FakeServer, type ReceivedRequest, VirtualClock } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BearerIdentity } from '../identity/identity.ts';
import { Access } from './access.ts';
import type { ResourceAttributes } from './decisions.ts';

const LIST_SERVICES: ResourceAttributes = {
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'services',
  namespace: '',
  name: '',
};
const WEB: BearerIdentity = {
  kind: 'bearer',
  key: 'sa:shop:web:u1',
  token: 'token-of-web',
  tokenKey: 'a',
  peer: async () => 'local',
};
const OPAQUE: BearerIdentity = {
  kind: 'bearer',
  key: 'token:abc',
  token: 'token-of-jane',
  tokenKey: 'b',
  peer: async () => 'local',
};

describe('access to shared views', () => {
  let directory: string;
  let memory: DurableMap;
  let server: FakeServer;
  let client: KubeClient;
  let clock: VirtualClock;
  let access: Access;
  let online = true;
  let allowed = true;
  let tokens: string[];
  const signal = new AbortController().signal;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
    memory = await DurableMap.open(join(directory, 'identity'));
    server = new FakeServer();
    server.intercept = (request, response) => {
      if (request.url.pathname.endsWith('/selfsubjectreviews'))
        return answerJson(response, { status: { userInfo: { username: 'jane' } } });
      const reason = allowed ? 'RBAC: allowed by ...' : '';
      return answerJson(response, { status: { allowed, reason } });
    };
    client = new KubeClient(await server.start(), { maxRetries: 0 });
    clock = new VirtualClock();
    online = true;
    allowed = true;
    tokens = [];
    access = await open();
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
    await memory.close();
    await rm(directory, { recursive: true });
  });

  const open = (): Promise<Access> =>
    Access.open({
      client,
      memory,
      tokens: {
        suspect: async ({ token }) => void tokens.push(token),
        holderOf: (identity) => ({ identity, tenant: identity }),
      },
      online: () => online,
      clock,
      log: silentLogger,
    });
  const restart = async (): Promise<void> => {
    await memory.close();
    memory = await DurableMap.open(join(directory, 'identity'));
    access = await open();
  };
  const asked = (): number => server.requests.length;
  const reviewIn = ({ body }: ReceivedRequest): unknown => JSON.parse(body).spec.resourceAttributes;

  it('is reviewed with the token of the client, once for concurrent requests, and again after five minutes', async () => {
    await Promise.all(Array.from({ length: 5 }, () => access.check(WEB, LIST_SERVICES, signal)));
    await access.check(WEB, LIST_SERVICES, signal);
    expect(asked()).toBe(1);
    const [request] = server.requests;
    expect(request!.url.pathname).toBe('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews');
    expect(request!.headers.authorization).toBe('Bearer token-of-web');
    expect(reviewIn(request!)).toEqual(LIST_SERVICES);
    await clock.advance(300_000);
    await access.check(WEB, LIST_SERVICES, signal);
    expect(asked()).toBe(2);
  });

  it('is not reviewed for the node', async () => {
    await access.check({ kind: 'node', key: 'node' }, LIST_SERVICES, signal);
    expect(asked()).toBe(0);
  });

  it('is decided for each identity and each question', async () => {
    await access.check(WEB, LIST_SERVICES, signal);
    online = false;
    await access.check(WEB, LIST_SERVICES, signal);
    const never = { status: { code: 503, reason: 'ServiceUnavailable', details: { retryAfterSeconds: 5 } } };
    await expect(access.check(OPAQUE, LIST_SERVICES, signal)).rejects.toMatchObject(never);
    for (const change of [{ verb: 'create' }, { resource: 'endpoints' }, { group: 'apps' }] as const)
      await expect(access.check(WEB, { ...LIST_SERVICES, ...change }, signal)).rejects.toMatchObject(never);
  });

  it('to a wider scope includes a narrower scope while no API server is reachable, but not the reverse', async () => {
    const inShop = { ...LIST_SERVICES, namespace: 'shop' };
    await access.check(WEB, inShop, signal);
    await access.check(OPAQUE, LIST_SERVICES, signal);
    online = false;
    const one = { ...inShop, verb: 'get', name: 'a' } as const;
    for (const attributes of [{ ...inShop, verb: 'watch' } as const, one]) {
      await access.check(WEB, attributes, signal);
      await access.check(OPAQUE, attributes, signal);
    }
    await expect(access.check(WEB, LIST_SERVICES, signal)).rejects.toMatchObject({ status: { code: 503 } });
    await expect(access.check(WEB, { ...one, namespace: 'other' }, signal)).rejects.toMatchObject({
      status: { code: 503 },
    });
  });

  it('is denied with the message of the API server, reviewed each time, and also denied offline', async () => {
    allowed = false;
    const words =
      'services is forbidden: User "system:serviceaccount:shop:web" cannot list resource "services" in API group "" at the cluster scope';
    await expect(access.check(WEB, LIST_SERVICES, signal)).rejects.toMatchObject({
      status: { code: 403, reason: 'Forbidden', message: words, details: { kind: 'services' } },
    });
    await expect(
      access.check(
        OPAQUE,
        {
          ...LIST_SERVICES,
          verb: 'get',
          group: 'discovery.k8s.io',
          resource: 'endpointslices',
          namespace: 'shop',
          name: 'web-1',
        },
        signal,
      ),
    ).rejects.toThrow(
      'endpointslices.discovery.k8s.io "web-1" is forbidden: User "jane" cannot get resource "endpointslices" in API group "discovery.k8s.io" in the namespace "shop"',
    );
    online = false;
    await restart();
    await expect(access.check(WEB, LIST_SERVICES, signal)).rejects.toThrow(words);
    online = true;
    allowed = true;
    await access.check(WEB, LIST_SERVICES, signal);
  });

  it('is remembered across restarts, and used when the API server fails', async () => {
    await access.check(WEB, LIST_SERVICES, signal);
    online = false;
    await restart();
    await access.check(WEB, LIST_SERVICES, signal);
    online = true;
    for (const code of [500, 429, 408]) {
      server.failNext({ code });
      await access.check(WEB, LIST_SERVICES, signal);
    }
    server.failNext({ code: 403 });
    await expect(access.check(WEB, LIST_SERVICES, signal)).rejects.toMatchObject({ status: { code: 503 } });
    await server.stop();
    await access.check(WEB, LIST_SERVICES, signal);
    await expect(access.check(OPAQUE, LIST_SERVICES, signal)).rejects.toMatchObject({
      status: { code: 503 },
    });
  });

  it('is refused when the API server answers 401, and stays valid for other tokens of the account', async () => {
    await access.check(WEB, LIST_SERVICES, signal);
    await clock.advance(300_000);
    server.failNext({ code: 401 });
    await expect(access.check(WEB, LIST_SERVICES, signal)).rejects.toMatchObject({ status: { code: 401 } });
    expect(tokens).toEqual(['token-of-web']);
    online = false;
    await access.check({ ...WEB, token: 'another' }, LIST_SERVICES, signal);
    access.forget(WEB.key);
    expect(memory.keys('access/')).toEqual([]);
  });

  it('to one verb ends with a denial of another: the role may have been removed', async () => {
    const inShop = { ...LIST_SERVICES, namespace: 'shop' };
    const inOther = { ...LIST_SERVICES, namespace: 'other' };
    for (const attributes of [LIST_SERVICES, { ...inShop, verb: 'watch' } as const, inOther])
      await access.check(WEB, attributes, signal);
    await access.check(OPAQUE, inShop, signal);
    allowed = false;
    await expect(access.check(WEB, inShop, signal)).rejects.toMatchObject({ status: { code: 403 } });
    online = false;
    for (const verb of ['watch', 'get', 'list'] as const)
      await expect(access.check(WEB, { ...inShop, verb, name: 'a' }, signal)).rejects.toMatchObject({
        status: { code: 503 },
      });
    await access.check(WEB, inOther, signal);
    await access.check(OPAQUE, inShop, signal);
  });

  it('stops waiting when the client disconnects', async () => {
    server.intercept = () => true;
    const gone = new AbortController();
    const checking = access.check(WEB, LIST_SERVICES, gone.signal);
    gone.abort(new Error('client gone'));
    await expect(checking).rejects.toThrow('client gone');
  });
});
