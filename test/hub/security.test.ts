/**
 * Attacks on the hub: tokens that the API server does not accept, permissions that were revoked, and paths that two
 * parsers understand differently. Stored data must not reach a client that the API server would refuse.
 */
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import { CLUSTER_ROLE_BINDINGS, type KubeObject, PODS, SECRETS, SERVICE_ACCOUNTS } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Edge } from '../support/edge.ts';
import { configMap, goOffline, goOnline, pod, soon } from '../support/edge-objects.ts';
import { say, Watching } from '../support/wire.ts';

const SECRETS_PATH = '/api/v1/namespaces/default/secrets';
let edge: Edge;

beforeAll(async () => {
  edge = await Edge.start({ front: true });
  // kube-apiserver answers these before it authenticates the client.
  edge.front.lie = ({ url, headers }, response) => {
    if (url?.includes('timeout=abc') !== true && headers['x-huge'] === undefined) return false;
    response.writeHead(headers['x-huge'] === undefined ? 400 : 431).end();
    return true;
  };
  await edge.admin.create(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'db', namespace: 'default' },
    stringData: { password: 'hunter2' },
  } as never);
});
afterAll(() => edge.stop());

/** A token of a new or known account; bound to a pod, or for an audience, if given. */
async function tokenOf(account: string, spec: { audiences?: string[]; pod?: string } = {}): Promise<string> {
  await edge.token(account);
  const { pod: name, audiences } = spec;
  const boundObjectRef = name === undefined ? undefined : { apiVersion: 'v1', kind: 'Pod', name };
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name: account, namespace: 'default' },
    spec: { audiences, boundObjectRef },
  };
  const answer = await edge.admin.create<KubeObject>(SERVICE_ACCOUNTS, request, { subresource: 'token' });
  return (answer.status as { token: string }).token;
}

/** A pod of the account on this node, and its token. */
async function podToken(name: string, account: string): Promise<string> {
  await edge.token(account);
  await edge.admin.create(PODS, pod(name, { serviceAccountName: account } as never));
  return tokenOf(account, { pod: name });
}

const deletePod = (name: string): Promise<unknown> =>
  edge.admin.delete(PODS, { namespace: 'default', name }, { gracePeriodSeconds: 0 });
const mayReadSecrets = (account: string): Promise<void> =>
  edge.allowReading(account, [{ group: '', resource: 'secrets' }]);
const statusOf = async (token: string, path = SECRETS_PATH): Promise<number> =>
  (await say(edge.asBearer(token), path)).status;
const statusOfWatch = async (token: string, path: string): Promise<number> => {
  const watch = await Watching.open(edge.asBearer(token), path);
  watch.close();
  return watch.status;
};

describe('a token for another audience', () => {
  it('reads nothing offline, although the API server answered it with something else than 401', async () => {
    await mayReadSecrets('audience');
    expect(await statusOf(await tokenOf('audience'))).toBe(200);
    const vault = await tokenOf('audience', { audiences: ['vault'] });
    expect(await statusOf(vault, `${SECRETS_PATH}?timeout=abc`)).toBe(401);
    // Tables and documents are forwarded: the API server decides.
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const opaque = edge.asBearer('opaque');
    expect((await say(opaque, `${SECRETS_PATH}?timeout=abc`, { headers })).status).toBe(400);
    expect((await say(opaque, SECRETS_PATH, { headers: { ...headers, 'x-huge': 'x' } })).status).toBe(431);
    expect(await statusOf('opaque', '/apis?timeout=abc')).toBe(400);
    const another = await tokenOf('audience', { audiences: ['vault'] });
    const good = await tokenOf('audience');
    await goOffline(edge);
    expect(await statusOf(vault)).toBe(401);
    expect(await statusOf(another)).toBe(401);
    expect(await statusOf('opaque')).toBe(401);
    expect(await statusOf(good)).toBe(200);
    await goOnline(edge);
  });
});

describe('a token that the API server has refused', () => {
  it('stays refused offline in every spelling', async () => {
    await mayReadSecrets('spelling');
    const good = await podToken('spelling-a', 'spelling');
    const bad = await podToken('spelling-b', 'spelling');
    expect([await statusOf(good), await statusOf(bad)]).toEqual([200, 200]);
    await deletePod('spelling-b');
    expect(await statusOf(bad, '/api/v1/namespaces/default')).toBe(401);
    await goOffline(edge);
    expect(await statusOf(good)).toBe(200);
    const [head, claims, signature = ''] = bad.split('.');
    const spellings = [
      bad,
      `${bad}=`,
      `${bad}==`,
      `${head}=.${claims}.${signature}`,
      `${head}.${claims}=.${signature}`,
    ];
    // The last character of an ES256 or RS256 signature has unused bits.
    for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
      spellings.push(`${head}.${claims}.${signature.slice(0, -1)}${last}`);
    for (const spelling of spellings)
      expect([spelling.slice(-3), await statusOf(spelling)]).toEqual([spelling.slice(-3), 401]);
    await goOnline(edge);
  });

  it('is not served even if an access review for it is still allowed', async () => {
    await mayReadSecrets('reviewed');
    const good = await podToken('reviewed-a', 'reviewed');
    const bad = await podToken('reviewed-b', 'reviewed');
    const watch = await Watching.open(edge.asBearer(good), `${SECRETS_PATH}?watch=1`);
    await soon(() => expect(watch.story).toContain('ADDED db'));
    await deletePod('reviewed-b');
    // The API server may authorize from a cache that is older than the revocation.
    const { lie } = edge.front;
    let lies = 0;
    edge.front.lie = (request, response) => {
      const isReview = request.url?.includes('/selfsubjectaccessreviews') === true;
      if (!isReview || request.headers.authorization !== `Bearer ${bad}`) return lie(request, response);
      lies++;
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', metadata: {} };
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...body, status: { allowed: true } }));
      return true;
    };
    try {
      for (const query of ['?resourceVersion=0', '?watch=1'])
        expect([query, await statusOfWatch(bad, SECRETS_PATH + query)]).toEqual([query, 401]);
    } finally {
      edge.front.lie = lie;
    }
    expect(lies).toBe(0);
    expect(await statusOf(good, `${SECRETS_PATH}?resourceVersion=0`)).toBe(200);
    watch.close();
  });

  it('is not served from the copies of its account while the API server is reachable', async () => {
    await mayReadSecrets('online');
    const good = await podToken('online-a', 'online');
    const bad = await podToken('online-b', 'online');
    const watch = await Watching.open(edge.asBearer(good), `${SECRETS_PATH}?watch=1`);
    await soon(() => expect(watch.story).toContain('ADDED db'));
    await deletePod('online-b');
    for (const query of ['?resourceVersion=0', '?watch=1', '?watch=1&resourceVersion=0', ''])
      expect([query, await statusOfWatch(bad, SECRETS_PATH + query)]).toEqual([query, 401]);
    expect(await statusOf(good, `${SECRETS_PATH}?resourceVersion=0`)).toBe(200);
    // The refused token must not end the watch of the other pod either.
    await edge.admin.create(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'later', namespace: 'default' },
    } as never);
    await soon(() => expect(watch.story).toContain('ADDED later'));
    watch.close();
  });
});

describe('a permission that was revoked', () => {
  it('does not live on in the copy after the API server has answered 403', async () => {
    await mayReadSecrets('revoked');
    const token = await tokenOf('revoked');
    const one = `${SECRETS_PATH}/db`;
    expect([await statusOf(token), await statusOf(token, one)]).toEqual([200, 200]);
    await edge.admin.delete(CLUSTER_ROLE_BINDINGS, { name: 'test-revoked' });
    await soon(async () => expect(await statusOf(token)).toBe(403));
    await goOffline(edge);
    for (const path of [
      SECRETS_PATH,
      one,
      `${SECRETS_PATH}?labelSelector=a`,
      `${SECRETS_PATH}?resourceVersion=0`,
    ])
      expect([path, await statusOf(token, path)]).toEqual([path, 503]);
    await edge.restartHub();
    expect(await statusOf(token)).toBe(503);
    await goOnline(edge);
  });

  it('ends also for clients that ask for tables, as kubectl does', async () => {
    await mayReadSecrets('tables');
    const token = await tokenOf('tables');
    expect(await statusOf(token)).toBe(200);
    await edge.admin.delete(CLUSTER_ROLE_BINDINGS, { name: 'test-tables' });
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    await soon(async () =>
      expect((await say(edge.asBearer(token), SECRETS_PATH, { headers })).status).toBe(403),
    );
    await goOffline(edge);
    expect(await statusOf(token)).toBe(503);
    await goOnline(edge);
  });

  it('ends also for shared resources that were refused in another form', async () => {
    const services = '/api/v1/namespaces/default/services';
    await edge.allowReading('shared', [{ group: '', resource: 'services' }]);
    const token = await tokenOf('shared');
    expect(await statusOf(token, services)).toBe(200);
    expect(await statusOf(token, `${services}/kubernetes`)).toBe(200);
    await edge.admin.delete(CLUSTER_ROLE_BINDINGS, { name: 'test-shared' });
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    await soon(async () => expect((await say(edge.asBearer(token), services, { headers })).status).toBe(403));
    await goOffline(edge);
    for (const path of [services, `${services}/kubernetes`, `${services}?watch=1`])
      expect([path, await statusOfWatch(token, path)]).not.toEqual([path, 200]);
    await goOnline(edge);
  });

  it('ends the copies of a shared resource that only the client itself has read', async () => {
    const selected = '/api/v1/services?fieldSelector=metadata.namespace%3Ddefault';
    await edge.allowReading('selected', [{ group: '', resource: 'services' }]);
    const token = await tokenOf('selected');
    expect(await statusOf(token, selected)).toBe(200);
    await edge.admin.delete(CLUSTER_ROLE_BINDINGS, { name: 'test-selected' });
    await soon(async () => expect(await statusOf(token, '/api/v1/services')).toBe(403));
    await goOffline(edge);
    expect(await statusOf(token, selected)).not.toBe(200);
    await goOnline(edge);
  });

  it('is renewed with the next permitted read', async () => {
    await mayReadSecrets('renewed');
    const token = await tokenOf('renewed');
    const binding = await edge.admin.get(CLUSTER_ROLE_BINDINGS, { name: 'test-renewed' });
    expect(await statusOf(token)).toBe(200);
    await edge.admin.delete(CLUSTER_ROLE_BINDINGS, { name: 'test-renewed' });
    await soon(async () => expect(await statusOf(token)).toBe(403));
    await edge.admin.create(CLUSTER_ROLE_BINDINGS, { ...binding, metadata: { name: 'test-renewed' } });
    await soon(async () => expect(await statusOf(token)).toBe(200));
    await goOffline(edge);
    expect(await statusOf(token)).toBe(200);
    await goOnline(edge);
  });

  it('is noticed for a list that a followed copy could answer', async () => {
    await mayReadSecrets('followed');
    const token = await tokenOf('followed');
    const watch = await Watching.open(edge.asBearer(token), `${SECRETS_PATH}?watch=1`);
    await soon(() => expect(watch.story).toContain('ADDED db'));
    await edge.admin.delete(CLUSTER_ROLE_BINDINGS, { name: 'test-followed' });
    await soon(async () => expect(await statusOf(token)).toBe(403));
    expect(await statusOf(token, `${SECRETS_PATH}?resourceVersion=0`)).toBe(403);
    expect(await watch.over).toBe('ended');
  });
});

describe('a path that parsers understand differently', () => {
  const asApp = async () => edge.asBearer(await tokenOf('paths'));
  const discovery = async () => (await say(edge.asNode, '/apis')).json<{ kind: string; groups: unknown[] }>();

  it('does not change a stored discovery document', async () => {
    await edge.allowReading('paths', [{ group: '', resource: 'configmaps' }]);
    await edge.admin.create(
      { group: '', version: 'v1', resource: 'configmaps', namespaced: true },
      configMap('evil', { groups: 'x' }),
    );
    const { groups } = await discovery();
    const app = await asApp();
    const before = edge.front.requests.length;
    for (const path of [
      '/apis#/../api/v1/namespaces/default/configmaps/evil',
      '/apis/x/..',
      '/apis/%2e%2e/apis',
      '//apis',
      '/apis\\..\\version',
    ])
      expect([path, (await say(app, path)).status]).toEqual([path, 400]);
    expect(edge.front.requests.slice(before).filter((line) => /evil|\.\.|%2e|\\|\/\//.test(line))).toEqual(
      [],
    );
    await goOffline(edge);
    expect(await discovery()).toMatchObject({ kind: 'APIGroupList', groups });
    await goOnline(edge);
  });

  it('is refused on every listener, with a reason, before it reaches the API server', async () => {
    const before = edge.front.requests.length;
    for (const way of [edge.http, edge.https, edge.hubHttps, edge.socket, edge.asNode]) {
      const { status, text: body } = await say(way, `${SECRETS_PATH}/..%2fpods`);
      expect([status, body]).toEqual([
        400,
        expect.stringMatching(/the request target is not valid: .*encoded slash/),
      ]);
    }
    // The hub itself reads the pods of its node.
    const own = /^GET \/api\/v1\/pods\?.*fieldSelector=spec\.nodeName/;
    const foreign = edge.front.requests.slice(before).filter((line) => !own.test(line));
    expect(foreign.filter((line) => line.includes('pods'))).toEqual([]);
  });

  it('is refused for upgrades, absolute targets and CONNECT', async () => {
    const send = async (head: string): Promise<string> => {
      const socket = createConnection({ host: '127.0.0.1', port: edge.ports.http });
      socket.end(`${head}\r\nHost: hub\r\n\r\n`);
      return text(socket).catch(() => '');
    };
    const exec = '/api/v1/namespaces/default/pods/p/exec';
    const upgrade = 'HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1';
    const before = edge.front.requests.length;
    for (const head of [
      `POST ${exec}/../../../secrets ${upgrade}`,
      `POST http://127.0.0.1${exec} ${upgrade}`,
      `GET http://127.0.0.1${SECRETS_PATH} HTTP/1.1`,
      `GET ${SECRETS_PATH}/\xff HTTP/1.1`,
      'OPTIONS * HTTP/1.1',
    ])
      expect([head, await send(head)]).toEqual([head, expect.stringMatching(/^HTTP\/1\.1 400 /)]);
    expect(await send('CONNECT 127.0.0.1:6443 HTTP/1.1')).not.toMatch(/^HTTP\/1\.1 2/);
    expect(edge.front.requests.slice(before).filter((line) => /exec|secrets/.test(line))).toEqual([]);
  });

  it('with the old prefixes watch and proxy is refused', async () => {
    const app = await asApp();
    for (const path of [
      '/api/v1/watch/pods',
      '/api/v1/watch/namespaces/default/secrets',
      '/api/v1/proxy/nodes/n/x',
    ])
      expect([path, (await say(app, path)).status]).toEqual([path, 400]);
  });

  it('behind a proxy subresource is forwarded byte for byte', async () => {
    const app = await asApp();
    const path = '/api/v1/namespaces/default/services/web:80/proxy//a%2Fb;v=1/?watch=1;x&watch=2';
    await say(app, path);
    expect(edge.front.requests.at(-1)).toBe(`GET ${path}`);
    expect((await say(app, '/api/v1/namespaces/default/services/web:80/proxy/%2e%2e/x')).status).toBe(400);
  });
});

it('a 401 of a server behind a proxy does not count as the refusal of the token', async () => {
  await mayReadSecrets('proxied');
  const token = await tokenOf('proxied');
  expect(await statusOf(token)).toBe(200);
  const { lie } = edge.front;
  edge.front.lie = (request, response) => {
    if (request.url?.includes('/proxy/login') !== true) return lie(request, response);
    response.writeHead(401).end('log in first');
    return true;
  };
  expect(await statusOf(token, '/api/v1/namespaces/default/services/web/proxy/login')).toBe(401);
  edge.front.lie = lie;
  await goOffline(edge);
  expect(await statusOf(token)).toBe(200);
  await goOnline(edge);
});

it('the admin port does not show to local users which objects and identities are stored', async () => {
  await mayReadSecrets('admin');
  const token = await tokenOf('admin');
  expect(await statusOf(token, `${SECRETS_PATH}/db`)).toBe(200);
  const pages = ['/v1/views', '/v1/journal', '/v1/filters', '/v1/upstreams', '/metrics'];
  for (const page of pages) {
    const { text: shown } = await say(edge.administration, page);
    expect([page, shown]).not.toEqual([
      page,
      expect.stringMatching(/metadata\.name=|"db"|sa:default|default:admin/),
    ]);
  }
  expect((await say(edge.administration, '/v1/views')).text).toContain('secrets');
  const { text: details } = await say(edge.adminSocket, '/v1/views');
  expect(details).toContain('metadata.name=db');
});
