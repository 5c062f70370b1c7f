import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClusterConfig, type Credential, fixedCredential } from '../config/cluster.ts';
import { KubeClient } from './client.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
type Keys = { privateKey: webcrypto.CryptoKey; publicKey: webcrypto.CryptoKey };

const newKeys = (): Promise<Keys> => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`;
}

class Authority {
  readonly #keys: Keys;
  readonly certificate: X509Certificate;

  private constructor(keys: Keys, certificate: X509Certificate) {
    this.#keys = keys;
    this.certificate = certificate;
  }

  static async create(): Promise<Authority> {
    const keys = await newKeys();
    const extensions = [new BasicConstraintsExtension(true, undefined, true)];
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: 'CN=test-ca',
      keys,
      extensions,
      signingAlgorithm: ALGORITHM,
    });
    return new Authority(keys, certificate);
  }

  async issue(name: string): Promise<{ cert: string; key: string }> {
    const { privateKey, publicKey } = await newKeys();
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${name}`,
      issuer: this.certificate.subject,
      publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new SubjectAlternativeNameExtension([
          { type: 'dns', value: 'api.internal' },
          { type: 'ip', value: '127.0.0.1' },
        ]),
      ],
    });
    return { cert: certificate.toString('pem'), key: await pemOf(privateKey) };
  }
}

describe('TLS', () => {
  let authority: Authority;
  let server: Server;
  let config: ClusterConfig;

  beforeAll(async () => {
    authority = await Authority.create();
    const ca = authority.certificate.toString('pem');
    const options = { ...(await authority.issue('api')), ca, requestCert: true, rejectUnauthorized: false };
    server = createServer(options, (request, response) => {
      const socket = request.socket as TLSSocket;
      response.end(JSON.stringify({ client: socket.getPeerCertificate().subject?.CN ?? 'anonymous' }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    config = {
      server: `https://127.0.0.1:${port}`,
      namespace: 'default',
      ca,
      credentials: fixedCredential({}),
    };
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function askedBy(overrides: Partial<ClusterConfig>): Promise<unknown> {
    const client = new KubeClient({ ...config, ...overrides }, { maxRetries: 0 });
    try {
      return await client.raw({ method: 'GET', path: '/' });
    } finally {
      await client.close();
    }
  }

  it('presents its certificate, and a new one as soon as it is available', async () => {
    let credential: Credential = await authority.issue('jane');
    const credentials = { current: async () => credential, refresh: async () => credential };
    const client = new KubeClient({ ...config, credentials });
    expect(await client.raw({ method: 'GET', path: '/' })).toEqual({ client: 'jane' });
    credential = await authority.issue('john');
    expect(await client.raw({ method: 'GET', path: '/' })).toEqual({ client: 'john' });
    await client.close();
  });

  it('trusts only the configured authority, unless verification is disabled', async () => {
    const stranger = (await Authority.create()).certificate.toString('pem');
    await expect(askedBy({ ca: stranger })).rejects.toThrow(/certificate signature failure|unable to verify/);
    expect(await askedBy({ ca: undefined, insecureSkipTlsVerify: true })).toEqual({ client: 'anonymous' });
  });

  it('expects the host name, or the configured server name', async () => {
    expect(await askedBy({ tlsServerName: 'api.internal' })).toEqual({ client: 'anonymous' });
    await expect(askedBy({ tlsServerName: 'other.internal' })).rejects.toThrow(/other\.internal/);
  });
});
