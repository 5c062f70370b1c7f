/** How clients are authenticated on every listener of the hub, and what they may read, online and offline. */
import { createHmac } from 'node:crypto';
import { NODES, PODS, SECRETS, SERVICES } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { administratorToken, clientCertificate } from '../support/accounts.ts';
import { Edge, NODE } from '../support/edge.ts';
import { configMap, goOffline, goOnline, pod, service, soon, viewsOf } from '../support/edge-objects.ts';
import { linesLogger } from '../support/lines-logger.ts';
import { say, type Way } from '../support/wire.ts';

const log = linesLogger();
let edge: Edge;
let token: string;
let stranger: string;

const SECRET = '/api/v1/namespaces/default/secrets/s';
const PODS_OF_NODE = `/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE}`;
const SELF = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'SelfSubjectReview',
  metadata: {},
};

beforeAll(async () => {
  edge = await Edge.start({ log });
  await edge.admin.create(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'default' },
    stringData: { password: 'hunter2' },
  } as never);
  await edge.admin.create(SERVICES, service('web'));
  const node = edge.node();
  await node.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  await edge.admin.create(PODS, pod('p', { volumes: [{ name: 'v', secret: { secretName: 's' } }] } as never));
  // Reads of the node itself, which other clients must not see.
  await soon(() => node.get(SECRETS, { namespace: 'default', name: 's' }));
  await node.list(PODS, { fieldSelector: `spec.nodeName=${NODE}` });
  await edge.allowReading('app', [
    { group: '', resource: 'configmaps' },
    { group: '', resource: 'services' },
  ]);
  token = await edge.token('app');
  stranger = await edge.token('stranger');
});
afterAll(() => edge.stop());

const usernameOf = async (way: Way): Promise<unknown> => {
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const { status, text } = await say(way, path, { method: 'POST', body: SELF });
  return status === 201 ? JSON.parse(text).status.userInfo.username : status;
};

const waysIn = (): [string, Way][] => [
  ['http', edge.http],
  ['https', edge.https],
  ['https at the address for pods', edge.hubHttps],
];

describe('without credentials', () => {
  it('no client is authenticated as the node, on any listener and with any User-Agent', async () => {
    for (const [name, way] of waysIn())
      for (const program of ['kubelet/v1.36.4', 'kube-proxy/v1.36.4', 'tidegate-hub/test']) {
        const caller = { ...way, headers: { 'user-agent': program } };
        expect([name, program, (await say(caller, SECRET)).status]).toEqual([name, program, 403]);
        expect((await say(caller, PODS_OF_NODE)).status).toBe(403);
        expect(await usernameOf(caller)).not.toBe(`system:node:${NODE}`);
      }
    expect((await say(edge.http, SECRET)).json()).toMatchObject({
      kind: 'Status',
      message: expect.stringContaining('User "system:anonymous" cannot get resource "secrets"'),
    });
  });

  it('public endpoints are served', async () => {
    expect((await say(edge.http, '/version')).status).toBe(200);
    expect((await say(edge.http, '/readyz')).text).toBe('ok');
  });
});

describe('the node', () => {
  it('is a client with its certificate, at every address, or one that can open its socket', async () => {
    const { cert = '', key = '' } = edge.credential;
    for (const way of [edge.asNode, { ...edge.hubHttps, cert, key }, edge.socket])
      expect(await usernameOf(way)).toBe(`system:node:${NODE}`);
  });

  it('is not a client with the certificate of another node, which the hub cannot forward', async () => {
    const { cert, key } = await clientCertificate(edge.admin, 'system:node:edge-2');
    const said = await say({ ...edge.https, cert, key }, SECRET);
    expect(said.status).toBe(403);
    expect(said.json()).toMatchObject({
      reason: 'Forbidden',
      message: expect.stringMatching(
        /"system:node:edge-2" must use a bearer token without a client certificate/,
      ),
    });
  });

  it('is not a client that opens its socket with the token of an account', async () => {
    expect(await usernameOf({ ...edge.socket, headers: { authorization: `Bearer ${token}` } })).toBe(
      'system:serviceaccount:default:app',
    );
  });
});

describe('a token', () => {
  it('authenticates its account, over HTTP and HTTPS', async () => {
    for (const [, way] of waysIn())
      expect(await usernameOf({ ...way, headers: { authorization: `Bearer ${token}` } })).toBe(
        'system:serviceaccount:default:app',
      );
  });

  it('gets nothing of the node with the User-Agent of kubelet or kube-proxy', async () => {
    for (const program of ['kubelet', 'kube-proxy']) {
      const caller = edge.asBearer(stranger, program);
      expect((await say(caller, SECRET)).status).toBe(403);
      expect((await say(caller, PODS_OF_NODE)).status).toBe(403);
      expect((await say(caller, '/api/v1/services')).json()).toMatchObject({
        reason: 'Forbidden',
        message: expect.stringContaining('User "system:serviceaccount:default:stranger" cannot list'),
      });
    }
  });

  it('that is forged is rejected', async () => {
    const [header, claims] = token.split('.');
    const forged = `${header}.${claims}.${createHmac('sha256', 'guess').update('x').digest('base64url')}`;
    for (const each of [forged, 'opaque-and-unknown']) {
      expect((await say(edge.asBearer(each), SECRET)).status).toBe(401);
      expect((await say(edge.asBearer(each), '/api/v1/services')).status).toBe(401);
    }
  });
});

describe('an impersonating client', () => {
  const impersonating = { 'impersonate-user': 'system:serviceaccount:default:app' };

  it('is forwarded, and the response is not stored', async () => {
    const root = edge.asBearer(await administratorToken(edge.admin), 'kubectl');
    const before = await viewsOf(edge);
    const caller = { ...root, headers: { ...root.headers, ...impersonating } };
    expect(await usernameOf(caller)).toBe('system:serviceaccount:default:app');
    expect((await say(caller, '/api/v1/namespaces/default/configmaps')).status).toBe(200);
    expect((await say(caller, SECRET)).status).toBe(403);
    expect((await viewsOf(edge)).map(({ identity, resource }) => [identity, resource])).toEqual(
      before.map(({ identity, resource }) => [identity, resource]),
    );
  });

  it('is rejected without permission', async () => {
    const caller = edge.asBearer(token);
    const said = await say(
      { ...caller, headers: { ...caller.headers, ...impersonating } },
      '/api/v1/services',
    );
    expect(said.status).toBe(403);
    expect(said.json()).toMatchObject({ message: expect.stringContaining('cannot impersonate') });
  });
});

describe('offline', () => {
  beforeAll(async () => {
    const app = edge.asBearer(token);
    await edge.admin.create(
      { group: '', version: 'v1', resource: 'configmaps', namespaced: true },
      configMap('c', { k: 'v' }),
    );
    expect((await say(app, '/api/v1/namespaces/default/configmaps')).status).toBe(200);
    expect((await say(app, '/api/v1/services')).status).toBe(200);
    await goOffline(edge);
  });
  afterAll(() => goOnline(edge));

  it('a token gets what its account has read before, and nothing else', async () => {
    const app = edge.asBearer(token);
    expect((await say(app, '/api/v1/namespaces/default/configmaps')).json()).toMatchObject({
      kind: 'ConfigMapList',
      items: expect.arrayContaining([expect.objectContaining({ data: { k: 'v' } })]),
    });
    expect((await say(app, '/api/v1/services')).status).toBe(200);
    for (const program of ['app', 'kubelet', 'kube-proxy']) {
      expect((await say(edge.asBearer(token, program), SECRET)).status).toBe(503);
      expect((await say(edge.asBearer(token, program), PODS_OF_NODE)).status).toBe(503);
    }
  });

  it('another token gets nothing of that, and a denial that it got before', async () => {
    const caller = edge.asBearer(stranger);
    expect((await say(caller, '/api/v1/namespaces/default/configmaps')).status).toBe(503);
    expect((await say(caller, '/api/v1/services')).status).toBe(403);
    expect((await say(caller, SECRET)).status).toBe(503);
  });

  it('an anonymous client gets nothing', async () => {
    for (const [, way] of waysIn())
      for (const path of [SECRET, '/api/v1/services', '/version', '/api'])
        expect((await say({ ...way, headers: { 'user-agent': 'kubelet/v1.36.4' } }, path)).status).toBe(401);
  });

  it('forged and unknown tokens are rejected', async () => {
    const [header, claims] = token.split('.');
    for (const each of [`${header}.${claims}.AAAA`, 'opaque-and-unknown'])
      expect((await say(edge.asBearer(each), '/api/v1/services')).status).toBe(401);
  });

  it('impersonation is rejected', async () => {
    const caller = edge.asBearer(token);
    const headers = { ...caller.headers, 'impersonate-user': 'system:admin' };
    expect((await say({ ...caller, headers }, '/api/v1/services')).status).toBe(503);
  });

  it('the node continues with its certificate and its socket', async () => {
    for (const way of [edge.asNode, edge.socket]) {
      expect((await say(way, SECRET)).json()).toMatchObject({ data: { password: expect.any(String) } });
      expect((await say(way, PODS_OF_NODE)).json()).toMatchObject({ items: [{ metadata: { name: 'p' } }] });
    }
  });
});

it('the log and the admin pages never contain a token', async () => {
  const pages = ['/v1/views', '/v1/filters', '/v1/journal', '/v1/upstreams', '/metrics'];
  const shown = await Promise.all(pages.map(async (page) => (await say(edge.administration, page)).text));
  const everything = [...log.lines, ...shown].join('\n');
  expect(log.lines.length).toBeGreaterThan(0);
  for (const secret of [token, stranger, token.split('.')[2]!, 'opaque-and-unknown', 'hunter2'])
    expect(everything).not.toContain(secret);
});
