import { Agent, request } from 'node:https';
import { connect } from 'node:tls';
import { silentLogger } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundleOf, newServingCertificate, renewed, signerOf } from './authorities.ts';
import { AdmissionServer } from './server.ts';

const now = Date.now();
const authorities = renewed([], now);
const newCertificate = (): KeyPair => newServingCertificate(signerOf(authorities, now), ['127.0.0.1'], now);

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
        evaluate: ({ name }) => {
          if (name === 'boom') throw new Error('boom');
          return name === 'bad' ? { forbidden: 'not allowed' } : {};
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
