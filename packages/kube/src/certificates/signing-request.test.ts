import 'reflect-metadata';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { newSigningRequest } from './signing-request.ts';

describe('newSigningRequest', () => {
  it('creates a request that another library can parse and verify', async () => {
    const { key, request } = newSigningRequest({
      commonName: 'system:node:n1',
      organizations: ['system:nodes', 'Zürich'],
      dnsNames: ['n1', 'n1.example'],
      ipAddresses: ['127.64.0.1', 'fe80::1', '::1'],
    });
    const read = new x509.Pkcs10CertificateRequest(request);
    expect(await read.verify()).toBe(true);
    expect(read.subjectName.getField('CN')).toEqual(['system:node:n1']);
    expect(read.subjectName.getField('O')).toEqual(['system:nodes', 'Zürich']);
    const names = read.extensions.find((e) => e instanceof x509.SubjectAlternativeNameExtension);
    expect(names?.names.toJSON()).toEqual([
      { type: 'dns', value: 'n1' },
      { type: 'dns', value: 'n1.example' },
      { type: 'ip', value: '127.64.0.1' },
      { type: 'ip', value: 'fe80::1' },
      { type: 'ip', value: '::1' },
    ]);
    const publicKey = createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' });
    expect(Buffer.from(read.publicKey.rawData)).toEqual(publicKey);
  });

  it('requests no extension if there are no names', async () => {
    const read = new x509.Pkcs10CertificateRequest(newSigningRequest({ commonName: 'jane' }).request);
    expect(await read.verify()).toBe(true);
    expect(read.extensions).toEqual([]);
  });
});
