import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Ingress } from '@tidegate/kube';
import { afterEach, describe, expect, it } from 'vitest';
import { requestsFor, type TestRequest } from '../requests.ts';
import { ingressOf } from '../testing/ingresses.ts';
import { modelsOf } from './models.ts';
import type { Side } from './send.ts';
import { verify } from './verify.ts';
import { verificationText } from './verify-text.ts';

const servers: Server[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
});

async function sideOf(listener: RequestListener): Promise<Side> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return { http: { address: '127.0.0.1', port }, https: undefined };
}

/** Answers with the target, or with a status for some targets. */
const answering =
  (statuses: Record<string, number> = {}, headers: Record<string, string> = {}): RequestListener =>
  ({ url = '', headers: { host } }, response) => {
    response.writeHead(statuses[url] ?? 200, headers).end(`${host}${url}`);
  };

interface Wish {
  ingresses?: Ingress[];
  targets: string[];
  ignored?: string[];
  accepted?: string[];
}

const INGRESS = ingressOf({ paths: [['/guides/', 'Exact'], '/'] });

function verifyTargets(old: Side, now: Side, { ingresses = [INGRESS], targets, ignored, accepted }: Wish) {
  const models = modelsOf({ ingresses, classes: [], configMaps: [] }, {}, 0)!;
  const requests = targets.map(
    (target): TestRequest => ({
      secure: false,
      host: 'a.example.com',
      target,
      method: 'GET',
      headers: {},
      from: 'test',
    }),
  );
  return verify(requests, {
    old,
    new: now,
    models,
    concurrency: 2,
    timeoutMs: 60_000,
    ignored: new Set(ignored),
    accepted: new Set(['ownResponse', ...(accepted ?? [])]),
    signal: new AbortController().signal,
  });
}

describe('verify', () => {
  it('finds no difference between equal controllers, and sends targets byte for byte', async () => {
    const seen: string[] = [];
    const old = await sideOf((request, response) => {
      seen.push(request.url ?? '');
      answering()(request, response);
    });
    const targets = ['/', '//x', '/a/../b', '/%2F?q=%20'];
    expect(await verifyTargets(old, old, { targets })).toMatchObject({ sent: 4, same: 4, findings: [] });
    expect([...new Set(seen)].sort()).toEqual([...targets].sort());
  });

  it('explains a difference by the rule behind it', async () => {
    const old = await sideOf(answering({ '/guides': 301, '//x': 200 }));
    const now = await sideOf(answering({ '/guides': 200, '/x/..': 400 }));
    const { findings } = await verifyTargets(old, now, { targets: ['/guides', '/x/..', '/same'] });
    expect(findings.map(({ request, differences }) => [request.target, differences])).toEqual([
      ['/guides', [{ part: 'status', old: '301', new: '200', rule: 'trailingSlash' }]],
      ['/x/..', [{ part: 'status', old: '200', new: '400', rule: 'normalization' }]],
    ]);
  });

  it('reports what no rule explains', async () => {
    const old = await sideOf(answering());
    const now = await sideOf(answering({ '/x': 500 }, { 'x-new': '1' }));
    const result = await verifyTargets(old, now, { targets: ['/x', '/y'] });
    expect(result.findings.map(({ differences }) => differences)).toEqual([
      [{ part: 'status', old: '200', new: '500', rule: 'unexplained' }],
      [{ part: 'header x-new', old: '', new: '1', rule: 'unexplained' }],
    ]);
    expect(verificationText(result, false)).toContain('status 200 -> 500');
    const ignored = await verifyTargets(old, now, { targets: ['/y'], ignored: ['x-new'] });
    expect(ignored.same).toBe(1);
  });

  it('explains cookies of a Service that several Ingresses use, and slashes of redirects', async () => {
    const old = await sideOf(
      answering({ '/r/': 308 }, { location: 'https://a.example.com/r', 'set-cookie': 'route=1' }),
    );
    const now = await sideOf(
      answering({ '/r/': 308 }, { location: 'https://a.example.com/r/', 'set-cookie': 'own=2' }),
    );
    const twice = (host: string) => ingressOf({ host, paths: ['/'] });
    const ingresses = [twice('a.example.com'), twice('b.example.com')];
    const rules = async (wish: Wish) =>
      (await verifyTargets(old, now, wish)).findings[0]?.differences.map(({ part, rule }) => [part, rule]);
    expect(await rules({ ingresses, targets: ['/r/'], ignored: ['body'] })).toEqual([
      ['header location', 'redirectSlash'],
      ['header set-cookie', 'sharedService'],
    ]);
    const [, cookie] = (await rules({ targets: ['/r/'], ignored: ['body'] })) ?? [];
    expect(cookie).toEqual(['header set-cookie', 'unexplained']);
  });

  it('accepts the rules that the user accepts, and other bodies of errors', async () => {
    const old = await sideOf(answering({ '/guides': 301, '/gone': 404 }));
    const now = await sideOf((request, response) => {
      if (request.url === '/gone') response.writeHead(404).end('another text');
      else answering()(request, response);
    });
    const { findings } = await verifyTargets(old, now, {
      targets: ['/guides', '/gone'],
      accepted: ['trailingSlash'],
    });
    expect(findings.map(({ isAccepted }) => isAccepted)).toEqual([true, true]);
  });

  it('leaves out what the old controller answers differently each time', async () => {
    let count = 0;
    const old = await sideOf((_, response) => {
      response.setHeader('x-count', `${++count}`).end(`${count}`);
    });
    const now = await sideOf((_, response) => {
      response.setHeader('x-count', 'none').end('none');
    });
    expect(await verifyTargets(old, now, { targets: ['/'] })).toMatchObject({ same: 1, unstable: 1 });
  });

  it('reports a controller that does not answer', async () => {
    const old = await sideOf(answering());
    const now = await sideOf((request) => request.socket.destroy());
    const { failures, same } = await verifyTargets(old, now, { targets: ['/'] });
    expect(failures).toMatchObject([{ side: 'new', message: 'socket hang up' }]);
    expect(same).toBe(0);
  });
});

describe('requests for routes', () => {
  it('change nothing', () => {
    const methods = new Set(requestsFor([INGRESS]).map(({ method }) => method));
    expect([...methods].sort()).toEqual(['GET', 'HEAD', 'OPTIONS']);
  });

  it('have each path, its neighbors, other spellings and names for TLS', () => {
    const ingress = ingressOf({ host: '*.example.com', paths: ['/api'], tls: true });
    const requests = requestsFor([ingress], { label: 'x' });
    const targets = requests.map(({ target }) => target);
    expect(targets).toEqual(expect.arrayContaining(['/api', '/api/', '/API', '//api', '/ap%69', '/']));
    expect(new Set(requests.map(({ host }) => host))).toEqual(new Set(['x.example.com']));
    expect(new Set(requests.map(({ secure }) => secure))).toEqual(new Set([false, true]));
  });

  it('match regular expressions', () => {
    const annotations = { 'rewrite-target': '/$2' };
    const ingress = ingressOf({ paths: [['/v[12]/(a|b)+(/|$)(.*)', 'ImplementationSpecific']], annotations });
    expect(requestsFor([ingress])[0]).toMatchObject({ target: '/v1/a/' });
  });

  it('have the headers that annotations look at', () => {
    const annotations = { 'enable-cors': 'true', canary: 'true', 'canary-by-header': 'X-New' };
    const headers = requestsFor([ingressOf({ paths: ['/'], annotations })]).map((each) => each.headers);
    expect(headers).toContainEqual({ 'x-new': 'always' });
    expect(headers).toContainEqual({
      origin: 'https://tidegate-test.example',
      'access-control-request-method': 'GET',
    });
  });
});
