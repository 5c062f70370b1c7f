import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { Agent, type AgentOptions, request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { connect } from 'node:tls';
import { silentLogger } from '@tidegate/kube';
import { issueCertificate, type KeyPair } from '@tidegate/kube/certificates';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundleOf, newServingCertificate, renewed, signerOf } from './authorities.ts';
import type { AdmissionResult } from './review.ts';
import { ClientGoneError, ReviewTimeoutError } from './review-lifetime.ts';
import type { AdmissionRule } from './rule.ts';
import { AdmissionServer, type ServerOptions } from './server.ts';

const now = Date.now();
const authorities = renewed([], now);
const newCertificate = (): KeyPair =>
  newServingCertificate(signerOf(authorities, now, ''), ['127.0.0.1'], now);

let server: AdmissionServer;
let agent: Agent;
beforeEach(() => listen());
afterEach(() => close());

async function listen(options: Partial<ServerOptions> = {}, client: AgentOptions = {}): Promise<void> {
  agent = new Agent({ keepAlive: true, maxSockets: 1, ca: bundleOf(authorities), ...client });
  server = await AdmissionServer.listen({
    host: '127.0.0.1',
    port: 0,
    certificate: newCertificate(),
    rules: [
      {
        group: 'g',
        versions: ['v1'],
        resource: 'things',
        scope: 'Cluster',
        operations: ['CREATE'],
        failurePolicy: 'Ignore',
        evaluate: ({ name }) => {
          if (name === 'boom') throw new Error('boom');
          if (name === 'waits') return new Promise<AdmissionResult>((resolve) => waiting.push(resolve));
          return name === 'bad' ? { forbidden: 'not allowed' } : {};
        },
      },
    ],
    log: silentLogger,
    ...options,
  });
}
async function close(): Promise<void> {
  agent.destroy();
  for (const answer of waiting.splice(0)) answer({});
  await server.close();
}
/** Starts the server again, with other options. */
async function restart(...options: Parameters<typeof listen>): Promise<void> {
  await close();
  await listen(...options);
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Answers reviews of objects with the name `waits`. */
const waiting: ((result: AdmissionResult) => void)[] = [];

interface HttpAnswer {
  code: number | undefined;
  text: string;
  /** The local port, which identifies the connection. */
  connection: number | undefined;
}

const send = (method: string, path: string, body = ''): Promise<HttpAnswer> =>
  new Promise((resolve, reject) => {
    const outgoing = request({ method, path, host: '127.0.0.1', port: server.port, agent }, (response) => {
      const connection = response.socket.localPort;
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve({ code: response.statusCode, text, connection }));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });

/** The fingerprint of the certificate that a new connection gets. */
const fingerprint = (): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: server.port, ca: bundleOf(authorities) }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.once('error', reject);
  });

const review = (name: string, resource = 'things'): string =>
  JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: 'u1',
      kind: { group: 'g', version: 'v1', kind: 'Thing' },
      resource: { group: 'g', version: 'v1', resource },
      operation: 'CREATE',
      userInfo: { username: 'ann', groups: ['system:authenticated'] },
      name,
    },
  });

describe('the admission server', () => {
  it('answers with the result of the matching rule, and allows requests without one', async () => {
    expect(
      JSON.parse((await send('POST', '/validate?timeout=5s', review('bad'))).text).response,
    ).toMatchObject({
      uid: 'u1',
      allowed: false,
      status: { message: 'not allowed' },
    });
    for (const body of [review('good'), review('bad', 'others')])
      expect(JSON.parse((await send('POST', '/validate', body)).text).response).toEqual({
        uid: 'u1',
        allowed: true,
      });
  });

  it('rejects invalid requests, and keeps running if a rule throws', async () => {
    expect((await send('GET', '/validate')).code).toBe(405);
    expect((await send('POST', '/other')).code).toBe(404);
    expect((await send('POST', '/validate', '{')).code).toBe(400);
    expect((await send('POST', '/validate', '{"kind":"Pod"}')).text).toContain('not an AdmissionReview');
    expect((await send('POST', '/validate', review('boom'))).code).toBe(500);
    expect((await send('GET', '/healthz')).code).toBe(200);
  });

  it('uses a new certificate for new connections and keeps open ones', async () => {
    const { connection } = await send('GET', '/healthz');
    const before = await fingerprint();
    server.renew(newCertificate());
    expect(await fingerprint()).not.toBe(before);
    expect(await send('GET', '/healthz')).toMatchObject({ code: 200, connection });
  });
});

/** A client certificate for the name, of the first authority in the list. */
function clientCertificate(commonName: string, [authority] = authorities): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cert = issueCertificate(
    {
      subject: { commonName, organizations: [] },
      publicKey,
      notBefore: new Date(now - 60_000),
      notAfter: new Date(now + 3_600_000),
      usages: ['clientAuth'],
      altNames: [],
    },
    { certificate: authority!.certificate, privateKey: createPrivateKey(authority!.key) },
  );
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

describe('the admission server with client authentication', () => {
  const clients = { authority: bundleOf(authorities), names: ['api-server'] };

  it('serves the API server', async () => {
    await restart({ clients }, clientCertificate('api-server'));
    expect((await send('POST', '/validate', review('good'))).code).toBe(200);
    server.renew(newCertificate());
    agent.destroy();
    expect((await send('POST', '/validate', review('good'))).code).toBe(200);
  });

  it('refuses clients without a certificate, and with one of another authority', async () => {
    await restart({ clients });
    await expect(send('POST', '/validate', review('good'))).rejects.toThrow();
    await restart({ clients }, clientCertificate('api-server', renewed([], now)));
    await expect(send('POST', '/validate', review('good'))).rejects.toThrow();
    server.renew(newCertificate());
    await expect(send('POST', '/validate', review('good'))).rejects.toThrow();
  });

  it('refuses certificates for other names', async () => {
    await restart({ clients }, clientCertificate('node-a'));
    expect(await send('POST', '/validate', review('good'))).toMatchObject({
      code: 403,
      text: 'client certificate of "node-a" is not accepted\n',
    });
  });
});

describe('the admission server under load', () => {
  const denied = async (body: string): Promise<unknown> =>
    JSON.parse((await send('POST', '/validate', body)).text).response;

  it('denies a review that is too large, so that size does not bypass a rule', async () => {
    await restart({ limits: { bodyBytes: 2_000, unknownBytes: 2_000 } });
    expect(await denied(review('x'.repeat(3_000)))).toEqual({
      uid: 'u1',
      allowed: false,
      status: {
        code: 413,
        reason: 'RequestEntityTooLarge',
        message: 'the object is too large: its admission review exceeds the limit of 2000 bytes; split it',
      },
    });
    expect((await send('POST', '/validate', 'x'.repeat(3_000))).code).toBe(413);
    expect((await send('POST', '/validate', review('good'))).code).toBe(200);
  });

  it('has lower limits for small kinds, and for reviews that no API server wrote', async () => {
    const limits = { bodyBytes: 4_000, unknownBytes: 3_000 };
    await restart({ limits });
    const text = review('x'.repeat(3_500));
    expect(await denied(text)).toMatchObject({ allowed: true });
    const { kind, ...rest } = JSON.parse(text);
    expect((await send('POST', '/validate', JSON.stringify({ ...rest, kind }))).code).toBe(413);
    expect(await denied(text.replace('"resource":"', '"resource":"other'))).toMatchObject({
      allowed: false,
      status: { code: 413, message: expect.stringContaining('the limit of 3000 bytes') },
    });
  });

  it('limits the memory for all bodies, and frees it', async () => {
    await restart({ limits: { allBytes: 2_000 } });
    expect(await denied(review('x'.repeat(3_000)))).toMatchObject({ allowed: false, status: { code: 429 } });
    for (let each = 0; each < 20; each++)
      expect((await send('POST', '/validate', review('good'))).code).toBe(200);
  });

  it('answers clients although others of the same address open connections and send nothing', async () => {
    await restart({ limits: { connectionsPerAddress: 3 } });
    const sockets = Array.from({ length: 20 }, () => connectTcp(server.port, '127.0.0.1'));
    const ends = sockets.map((socket) => {
      socket.on('error', () => undefined);
      return new Promise((resolve) => socket.once('close', resolve));
    });
    // At most three of them can stay.
    await Promise.all(ends.slice(0, 1));
    for (let each = 0; each < 5; each++)
      expect((await send('POST', '/validate', review('good'))).code).toBe(200);
    for (const socket of sockets) socket.destroy();
    await Promise.all(ends);
  });

  it('answers as many reviews at once as an API server may send', async () => {
    // On a busy machine, the connections alone take longer than a review may.
    await restart({ limits: { timeoutMs: 240_000 } }, { maxSockets: 600, keepAlive: false });
    const answers = await Promise.all(
      Array.from({ length: 600 }, () => send('POST', '/validate', review('good'))),
    );
    expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([200]));
  });

  it('closes a connection whose request does not arrive', async () => {
    await restart({ limits: { timeoutMs: 50 } });
    const socket = connect({ host: '127.0.0.1', port: server.port, ca: bundleOf(authorities) }, () =>
      socket.write('POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{'),
    );
    socket.on('error', () => undefined);
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
  });

  /** A rule that computes until it is aborted, and reports that. */
  const endless = (
    failurePolicy: 'Fail' | 'Ignore',
    ended: (error: unknown) => void,
    started: () => void = () => {},
  ): AdmissionRule => ({
    group: 'g',
    versions: ['v1'],
    resource: 'things',
    scope: 'Cluster',
    operations: ['CREATE'],
    failurePolicy,
    async evaluate({ name }, turn) {
      if (name === 'small') return {};
      started();
      try {
        for (;;) await turn?.();
      } catch (error) {
        ended(error);
        throw error;
      }
    },
  });

  it.each(['Fail', 'Ignore'] as const)('ends a review that takes too long (%s)', async (failurePolicy) => {
    const { promise, resolve } = withResolvers<unknown>();
    await restart({ limits: { evaluationMs: 50 }, rules: [endless(failurePolicy, resolve)] });
    const { code, text } = await send('POST', '/validate', review('endless'));
    expect(await promise).toBeInstanceOf(ReviewTimeoutError);
    if (failurePolicy === 'Ignore') expect(code).toBe(504);
    else
      expect(JSON.parse(text).response).toEqual({
        uid: 'u1',
        allowed: false,
        status: {
          code: 504,
          reason: 'Timeout',
          message: 'the evaluation of the object took longer than 50 ms: make it smaller, or try again',
        },
      });
  });

  it('ends a review when the client leaves', async () => {
    const { promise, resolve } = withResolvers<unknown>();
    const start = withResolvers<void>();
    await restart({ limits: { evaluationMs: 1e9 }, rules: [endless('Fail', resolve, start.resolve)] });
    const body = review('endless');
    const socket = connect({ host: '127.0.0.1', port: server.port, ca: bundleOf(authorities) }, () =>
      socket.write(`POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
    socket.on('error', () => undefined);
    await start.promise;
    expect(JSON.parse((await send('POST', '/validate', review('small'))).text).response.allowed).toBe(true);
    socket.destroy();
    expect(await promise).toBeInstanceOf(ClientGoneError);
  });

  it('shows the first problems only', async () => {
    const problems = Array.from({ length: 30 }, (_, index) => ({ path: `spec.a[${index}]`, message: 'bad' }));
    const warnings = problems.map(({ path }) => path);
    const reviewed = send('POST', '/validate', review('waits'));
    await new Promise<void>((resolve) => {
      const look = (): unknown => (waiting.length > 0 ? resolve() : setImmediate(look));
      look();
    });
    waiting.shift()?.({ problems, warnings });
    const { response } = JSON.parse((await reviewed).text);
    expect(response.warnings).toHaveLength(21);
    expect(response.warnings.at(-1)).toBe('10 more warnings are not shown');
    expect(response.status.details.causes).toHaveLength(21);
  });
});
