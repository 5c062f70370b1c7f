import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '@tidegate/kube';
import { parseSigningRequest, subjectOf } from '@tidegate/kube/certificates';
import { afterAll, describe, expect, it } from 'vitest';
import type { Authorizer } from '../authorization.ts';
import { openPki } from '../pki.ts';
import { approveRequest, signRequest } from './signer.ts';
import requests from './testdata/requests.json' with { type: 'json' };

const directory = mkdtempSync(join(tmpdir(), 'csr-'));
afterAll(() => rmSync(directory, { recursive: true }));
const pki = openPki({ directory });
const now = new Date();

/** Creates a request with `openssl req -new`, with subject, names and type of key (default: P-256). */
function request(subject: string, altNames = '', key = ''): string {
  const found = (requests as Record<string, string>)[
    [subject, altNames, key].filter((part) => part !== '').join(' ')
  ];
  if (found === undefined) throw new Error(`no request for ${subject} ${altNames} ${key} in testdata`);
  return found;
}

const csr = (signer: string, text: string, usages: string[], more: object = {}): KubeObject => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'x' },
  spec: { request: text, signerName: `kubernetes.io/${signer}`, usages, ...more },
  status: { conditions: [{ type: 'Approved', status: 'True' }] },
});

interface Signed {
  certificate?: string;
  conditions: { type: string; reason: string; message: string }[];
}
const sign = (object: KubeObject): Signed | undefined =>
  signRequest(object, pki, now)?.status as Signed | undefined;
const certificateIn = (signed: Signed | undefined): X509Certificate =>
  new X509Certificate(Buffer.from(signed?.certificate ?? '', 'base64'));

describe('reading requests', () => {
  it('with all common key types', () => {
    for (const key of ['RSA', 'Ed25519', 'P-384']) {
      expect(parseSigningRequest(request('/O=dev/O=ops/CN=jane/OU=x', '', key)).subject).toEqual({
        commonName: 'jane',
        organizations: ['dev', 'ops'],
      });
    }
  });

  it('returns the requested names', () => {
    const text = request('/CN=x', 'DNS:a.b,DNS:c.d,IP:1.2.3.4,IP:::1,email:x@y.z,URI:spiffe://a/b');
    expect(parseSigningRequest(text).altNames).toEqual({
      dns: ['a.b', 'c.d'],
      ip: ['1.2.3.4', '::1'],
      email: ['x@y.z'],
      uri: ['spiffe://a/b'],
      others: 0,
    });
  });

  it('rejects malformed requests and requests with a wrong signature', () => {
    expect(() => parseSigningRequest('YWJj')).toThrow('PEM block type must be CERTIFICATE REQUEST');
    const [head, body = '', tail] = Buffer.from(request('/CN=x'), 'base64')
      .toString()
      .split(/(?<=REQUEST-----\n)|(?=-----END)/);
    const bytes = Buffer.from(body, 'base64');
    const at = bytes.indexOf('x', 12);
    bytes[at] = 'y'.charCodeAt(0);
    const forged = Buffer.from(`${head}${bytes.toString('base64')}\n${tail}`).toString('base64');
    expect(() => parseSigningRequest(forged)).toThrow('x509: ECDSA verification failure');
  });
});

describe('signing', () => {
  it('issues a client certificate with the requested subject and names', () => {
    const text = request('/O=dev/CN=jane/OU=x', 'DNS:a.b');
    const certificate = certificateIn(
      sign(csr('kube-apiserver-client', text, ['client auth', 'digital signature'])),
    );
    expect(certificate.verify(new X509Certificate(pki.ca).publicKey)).toBe(true);
    expect(subjectOf(certificate)).toEqual({ commonName: 'jane', organizations: ['dev'] });
    expect(certificate.subject).toContain('OU=x');
    expect(certificate.subjectAltName).toBe('DNS:a.b');
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  });

  it('limits the requested lifetime to one year', () => {
    const text = request('/CN=jane');
    const hours = (expirationSeconds?: number): number => {
      const certificate = certificateIn(
        sign(csr('kube-apiserver-client', text, ['client auth'], { expirationSeconds })),
      );
      return Math.round((Date.parse(certificate.validTo) - now.getTime()) / 3600_000);
    };
    expect(hours(3600)).toBe(1);
    expect(hours()).toBe(365 * 24);
    expect(hours(1e9)).toBe(365 * 24);
  });

  const node = '/O=system:nodes/CN=system:node:n1';
  it.each<[string, string, string, string[], string | undefined]>([
    [
      'kube-apiserver-client',
      '/CN=x',
      '',
      ['server auth'],
      'invalid usage for client certificate: server auth',
    ],
    [
      'kube-apiserver-client',
      '/CN=x',
      '',
      ['digital signature'],
      'missing required usage for client certificate: client auth',
    ],
    ['kube-apiserver-client-kubelet', node, '', ['client auth', 'digital signature'], undefined],
    [
      'kube-apiserver-client-kubelet',
      '/O=x/CN=system:node:n1',
      '',
      ['client auth'],
      'subject organization is not system:nodes',
    ],
    [
      'kube-apiserver-client-kubelet',
      '/O=system:nodes/CN=n1',
      '',
      ['client auth'],
      'subject common name does not begin with system:node:',
    ],
    ['kube-apiserver-client-kubelet', node, 'DNS:a', ['client auth'], 'DNS subjectAltNames are not allowed'],
    [
      'kube-apiserver-client-kubelet',
      node,
      '',
      ['client auth'],
      'usages did not match [client auth digital signature key encipherment]',
    ],
    [
      'kubelet-serving',
      node,
      'IP:1.2.3.4',
      ['server auth', 'digital signature', 'key encipherment'],
      undefined,
    ],
    [
      'kubelet-serving',
      node,
      '',
      ['server auth', 'digital signature'],
      'DNS or IP subjectAltName is required',
    ],
    [
      'kubelet-serving',
      node,
      'DNS:a',
      ['client auth', 'digital signature'],
      'usages did not match [digital signature key encipherment server auth]',
    ],
  ])('%s %s %s %j', (signer, subject, altNames, usages, problem) => {
    const signed = sign(csr(signer, request(subject, altNames), usages));
    if (problem === undefined) expect(signed?.certificate).toBeDefined();
    else
      expect(signed?.conditions.at(-1)).toMatchObject({
        type: 'Failed',
        reason: 'SignerValidationFailure',
        message: problem,
      });
  });

  it('ignores requests that are not approved, already signed, or for another signer', () => {
    const object = csr('kube-apiserver-client', request('/CN=x'), ['client auth']);
    expect(signRequest({ ...object, status: {} }, pki, now)).toBeUndefined();
    expect(signRequest(signRequest(object, pki, now)!, pki, now)).toBeUndefined();
    expect(signRequest(csr('other', request('/CN=x'), []), pki, now)).toBeUndefined();
  });
});

describe('approving', () => {
  const allowing = (...allowed: string[]): Authorizer => ({
    authorize: (user, a) => ({
      allowed: 'subresource' in a && allowed.includes(`${user.username} ${a.subresource}`),
      reason: '',
    }),
  });
  const pending = (username: string): KubeObject => ({
    ...csr(
      'kube-apiserver-client-kubelet',
      request('/O=system:nodes/CN=system:node:n1'),
      ['client auth', 'digital signature'],
      {
        username,
        groups: [],
      },
    ),
    status: {},
  });

  it('approves bootstrap and renewal requests of authorized kubelets', () => {
    const approved = (username: string, authorizer: Authorizer): unknown =>
      (approveRequest(pending(username), authorizer, now)?.status as Signed | undefined)?.conditions[0]
        ?.message;
    expect(approved('system:node:n1', allowing('system:node:n1 selfnodeclient'))).toBe(
      'Auto approving self kubelet client certificate after SubjectAccessReview.',
    );
    expect(approved('bootstrap', allowing('bootstrap nodeclient'))).toBe(
      'Auto approving kubelet client certificate after SubjectAccessReview.',
    );
    expect(approved('system:node:n2', allowing('system:node:n2 selfnodeclient'))).toBeUndefined();
    expect(approved('jane', allowing())).toBeUndefined();
  });
});
