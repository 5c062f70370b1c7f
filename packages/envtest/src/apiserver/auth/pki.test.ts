import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { subjectOf } from '@tidegate/kube/certificates';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { writeKubeconfig } from './kubeconfig.ts';
import { openPki } from './pki.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'pki-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('openPki', () => {
  it('creates all files at the first start, with keys that only the owner can read', () => {
    openPki({ directory });
    expect(readdirSync(directory).sort()).toEqual([
      'admin.crt',
      'admin.key',
      'apiserver-kubelet-client.crt',
      'apiserver-kubelet-client.key',
      'apiserver.crt',
      'apiserver.key',
      'ca.crt',
      'ca.key',
      'sa.key',
    ]);
    for (const name of ['ca', 'apiserver', 'admin', 'sa']) {
      expect(statSync(join(directory, `${name}.key`)).mode & 0o777).toBe(0o600);
    }
  });

  it('keeps existing files', () => {
    const first = openPki({ directory });
    const second = openPki({ directory });
    expect(second.ca).toBe(first.ca);
    expect(second.serving).toEqual(first.serving);
    expect(second.serviceAccountKey.keyId).toBe(first.serviceAccountKey.keyId);
  });

  it('includes the default names and the configured names in the serving certificate', () => {
    const certificate = new X509Certificate(
      openPki({ directory, hosts: ['edge.example.com', 'fd00::17', '10.1.2.3'] }).serving.certificate,
    );
    for (const host of ['localhost', 'kubernetes.default.svc.cluster.local', 'edge.example.com']) {
      expect(certificate.checkHost(host)).toBe(host);
    }
    for (const address of ['127.0.0.1', '::1', 'fd00::17', '10.1.2.3']) {
      expect(certificate.checkIP(address)).toBe(address);
    }
    expect(certificate.checkHost('elsewhere')).toBeUndefined();
  });

  it('renews the serving certificate for a new name and keeps its key', () => {
    const before = openPki({ directory }).serving;
    const after = openPki({ directory, hosts: ['edge.example.com'] }).serving;
    expect(after.certificate).not.toBe(before.certificate);
    expect(after.key).toBe(before.key);
  });

  it('renews certificates that are about to expire', () => {
    const before = openPki({ directory });
    const later = openPki({ directory, now: () => new Date(Date.now() + 200 * 24 * 3600 * 1000) });
    expect(later.ca).toBe(before.ca);
    expect(later.serving.certificate).not.toBe(before.serving.certificate);
    expect(later.admin.certificate).not.toBe(before.admin.certificate);
  });

  it('completes a start that was interrupted after writing a key', () => {
    openPki({ directory });
    rmSync(join(directory, 'ca.crt'));
    const pki = openPki({ directory });
    const ca = new X509Certificate(pki.ca);
    expect(new X509Certificate(pki.serving.certificate).verify(ca.publicKey)).toBe(true);
  });

  it('names the file that is unusable', () => {
    openPki({ directory });
    const other = mkdtempSync(join(directory, 'other-'));
    openPki({ directory: other });

    writeFileSync(join(directory, 'ca.key'), readFileSync(join(other, 'ca.key')));
    expect(() => openPki({ directory })).toThrow(
      `${directory}/ca.crt does not belong to ${directory}/ca.key: restore the correct file, or remove both files to create new ones`,
    );
    writeFileSync(join(directory, 'ca.key'), 'nonsense');
    expect(() => openPki({ directory })).toThrow(
      `${directory}/ca.key does not contain a private key in PEM format`,
    );
    rmSync(join(directory, 'ca.key'));
    expect(() => openPki({ directory })).toThrow(`its key ${directory}/ca.key is missing`);
  });

  it('reports an expired CA', () => {
    openPki({ directory });
    const now = (): Date => new Date(Date.now() + 3651 * 24 * 3600 * 1000);
    expect(() => openPki({ directory, now })).toThrow(`${directory}/ca.crt expired on`);
  });

  it('escapes all characters in subjects', () => {
    const subject = { commonName: 'jane\nO=system:masters, Ω', organizations: ['a/b', 'dev\nCN=root'] };
    const { certificate } = openPki({ directory }).issueClientCertificate({ ...subject, days: 1 });
    expect(subjectOf(new X509Certificate(certificate))).toEqual(subject);
  });
});

describe('over TLS', () => {
  /** The result of TLS verification on the server for a client with this key pair. */
  async function handshake(pair: {
    certificate: string;
    key: string;
  }): Promise<{ authorized: boolean; error: string }> {
    const pki = openPki({ directory });
    const server = createServer({
      cert: pki.serving.certificate,
      key: pki.serving.key,
      ca: pki.ca,
      requestCert: true,
      rejectUnauthorized: false,
    });
    const accepted = new Promise<TLSSocket>((resolve) => server.once('secureConnection', resolve));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const client = connect({ port, host: '127.0.0.1', ca: pki.ca, cert: pair.certificate, key: pair.key });
    await new Promise((resolve, reject) => client.once('secureConnect', resolve).once('error', reject));
    const socket = await accepted;
    const result = { authorized: socket.authorized, error: String(socket.authorizationError) };
    client.destroy();
    socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    return result;
  }

  it('the client verifies the server, and the server verifies the admin', async () => {
    expect((await handshake(openPki({ directory }).admin)).authorized).toBe(true);
  });

  it('a certificate of another CA is not authorized', async () => {
    const stranger = openPki({ directory: join(directory, 'other') });
    expect((await handshake(stranger.admin)).authorized).toBe(false);
  });

  it('a serving certificate is not authorized as a client certificate', async () => {
    const pki = openPki({ directory });
    expect(await handshake(pki.serving)).toEqual({ authorized: false, error: 'INVALID_PURPOSE' });
  });
});

it('writes a kubeconfig that only its owner can read', () => {
  const path = join(directory, 'sub', 'kubeconfig');
  writeKubeconfig({
    path,
    server: 'https://127.0.0.1:6443',
    ca: 'CA',
    certificate: 'CRT',
    key: 'KEY',
    context: 'tidegate',
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const config = parse(readFileSync(path, 'utf8'));
  expect(config['current-context']).toBe('tidegate');
  expect(config.clusters[0].cluster).toEqual({
    server: 'https://127.0.0.1:6443',
    'certificate-authority-data': Buffer.from('CA').toString('base64'),
  });
  expect(config.contexts[0].context).toEqual({ cluster: 'tidegate', user: 'tidegate-admin' });
  expect(config.users[0].user['client-key-data']).toBe(Buffer.from('KEY').toString('base64'));
});
