import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { type Credential, Metrics, silentLogger, systemClock } from '@tidegate/kube';
import { issueCertificate, selfSignedCa } from '@tidegate/kube/certificates';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UpstreamCredential } from './forward.ts';
import { SmallApi } from './testing/api.ts';
import { Upstream } from './upstream.ts';

const VALIDITY = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };

const newKey = () => {
  const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  return pem.toString();
};

class Authority {
  readonly #key = createPrivateKey(newKey());
  readonly certificate = selfSignedCa({ commonName: 'ca', organizations: [] }, this.#key, VALIDITY);

  issue(commonName: string): { cert: string; key: string } {
    const key = newKey();
    const request = {
      subject: { commonName, organizations: [] },
      publicKey: createPublicKey(key),
      ...VALIDITY,
      usages: ['serverAuth' as const, 'clientAuth' as const],
      altNames: ['127.0.0.1'],
    };
    const issuer = { certificate: this.certificate, privateKey: this.#key };
    return { cert: issueCertificate(request, issuer), key };
  }
}

describe('the client certificate of the node', () => {
  const authority = new Authority();
  let api: SmallApi;
  let upstream: Upstream;
  let credential: Credential = authority.issue('system:node:first');

  const peer = (request: IncomingMessage): string =>
    (request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? 'no certificate';

  beforeAll(async () => {
    const ca = authority.certificate;
    const options = { ...authority.issue('api'), ca, requestCert: true, rejectUnauthorized: false };
    api = await new SmallApi(createServer(options)).start();
    api.answer = (request, response) => {
      if (request.url === '/watch') response.write('begun');
      else response.end(peer(request));
    };
    upstream = await Upstream.open({
      servers: [`https://127.0.0.1:${api.port}`],
      mode: 'rr',
      ca,
      nodeCredentials: { current: async () => credential, refresh: async () => credential },
      userAgent: 'test',
      clock: systemClock,
      log: silentLogger,
      metrics: new Metrics(),
    });
  });
  afterAll(async () => {
    await upstream.close();
    await api.stop();
  });

  const signal = new AbortController().signal;
  const forward = (path: string, as: UpstreamCredential) =>
    upstream.forward({ method: 'GET', path, headers: {}, credential: as, signal });
  const certificateOf = async (as: UpstreamCredential): Promise<string> =>
    text((await forward('/', as)).body);

  it('is used for requests of the node only, whatever connections are open', async () => {
    for (const as of ['none', 'node', { token: 'a' }, 'node', 'none'] as const) {
      expect(await certificateOf(as)).toBe(as === 'node' ? 'system:node:first' : 'no certificate');
    }
  });

  it('is replaced for new requests after a renewal, while open requests continue', async () => {
    const watch = await forward('/watch', 'node');
    credential = authority.issue('system:node:renewed');
    expect(await certificateOf('node')).toBe('system:node:renewed');
    expect(await upstream.node().text('/')).toBe('system:node:renewed');
    const begun = await watch.body[Symbol.asyncIterator]().next();
    expect(begun.value.toString()).toBe('begun');
    expect(watch.body.destroyed).toBe(false);
    watch.body.on('error', () => {}).destroy();
  });
});
