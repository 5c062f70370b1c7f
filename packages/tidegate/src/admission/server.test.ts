import { Agent, request } from 'node:https';
import { connect } from 'node:tls';
import { type KeyPair, silentLogger } from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundleOf, newServing, renewed, signerOf } from './authorities.ts';
import { AdmissionServer } from './server.ts';

const now = Date.now();
const authorities = renewed([], now);
const newCertificate = (): KeyPair => newServing(signerOf(authorities, now), ['127.0.0.1'], now);

let server: AdmissionServer;
let agent: Agent;
beforeEach(async () => {
  agent = new Agent({ keepAlive: true, maxSockets: 1, ca: bundleOf(authorities) });
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
        judge: ({ name }) => {
          if (name === 'boom') throw new Error('boom');
          return name === 'bad' ? { forbidden: 'it is bad' } : {};
        },
      },
    ],
    log: silentLogger,
  });
});
afterEach(async () => {
  agent.destroy();
  await server.close();
});

interface Answer {
  code: number | undefined;
  text: string;
  /** Our end of the connection: the same as long as that is the same. */
  connection: number | undefined;
}

const ask = (method: string, path: string, body = ''): Promise<Answer> =>
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

/** Of the certificate that a new connection is shown. */
const shown = (): Promise<string> =>
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
  it('answers a review by the rule for it; what no rule is for may be', async () => {
    expect(
      JSON.parse((await ask('POST', '/validate?timeout=5s', review('bad'))).text).response,
    ).toMatchObject({
      uid: 'u1',
      allowed: false,
      status: { message: 'it is bad' },
    });
    for (const body of [review('good'), review('bad', 'others')])
      expect(JSON.parse((await ask('POST', '/validate', body)).text).response).toEqual({
        uid: 'u1',
        allowed: true,
      });
  });

  it('says what is wrong with a request, and lives on when a rule throws', async () => {
    expect((await ask('GET', '/validate')).code).toBe(405);
    expect((await ask('POST', '/other')).code).toBe(404);
    expect((await ask('POST', '/validate', '{')).code).toBe(400);
    expect((await ask('POST', '/validate', '{"kind":"Pod"}')).text).toContain('not an AdmissionReview');
    expect((await ask('POST', '/validate', review('boom'))).code).toBe(500);
    expect((await ask('GET', '/healthz')).code).toBe(200);
  });

  it('shows a new certificate to new connections and keeps the open ones', async () => {
    const { connection } = await ask('GET', '/healthz');
    const before = await shown();
    server.renew(newCertificate());
    expect(await shown()).not.toBe(before);
    expect(await ask('GET', '/healthz')).toMatchObject({ code: 200, connection });
  });
});
