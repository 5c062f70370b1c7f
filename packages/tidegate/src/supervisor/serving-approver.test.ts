import type { CertificateSigningRequest } from '@tidegate/kube';
import { newSigningRequest } from '@tidegate/kube/certificates';
import { describe, expect, it } from 'vitest';
import { mayBeApproved } from './serving-approver.ts';

const nodes = [
  { name: 'node-a', address: '127.64.0.1' },
  { name: 'node-b', address: '127.64.0.2' },
];

function csr(
  names: string[],
  addresses: string[],
  spec: object = {},
  status: object = {},
): CertificateSigningRequest {
  const { request } = newSigningRequest({
    commonName: 'system:node:node-a',
    organizations: ['system:nodes'],
    dnsNames: names,
    ipAddresses: addresses,
  });
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'x' },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kubelet-serving',
      username: 'system:node:node-a',
      groups: ['system:nodes', 'system:authenticated'],
      usages: ['digital signature', 'server auth'],
      ...spec,
    },
    status,
  };
}

describe('the serving certificate of a node', () => {
  it("is approved for the node's own name and address", () => {
    expect(mayBeApproved(csr(['node-a'], ['127.64.0.1']), nodes, ['10.96.0.1'])).toBe(true);
  });

  it('is approved for the names of its hub', () => {
    const request = csr(['kubernetes.default.svc', 'localhost'], ['127.64.0.1', '10.96.0.1']);
    expect(mayBeApproved(request, nodes, ['10.96.0.1'])).toBe(true);
  });

  it.each([
    ['the address of another node', csr(['node-a'], ['127.64.0.2'])],
    ['the name of another node', csr(['node-b'], ['127.64.0.1'])],
    ['no address at all', csr([], [])],
    ['a user that is not a node', csr(['node-a'], ['127.64.0.1'], { username: 'eve' })],
    ['a node that is not in the layout', csr(['kubernetes'], [], { username: 'system:node:node-z' })],
    ['another node', csr(['node-a'], ['127.64.0.1'], { username: 'system:node:node-b' })],
    [
      'another signer',
      csr(['node-a'], ['127.64.0.1'], { signerName: 'kubernetes.io/kube-apiserver-client' }),
    ],
    [
      'a request that was denied',
      csr(['node-a'], ['127.64.0.1'], {}, { conditions: [{ type: 'Denied', status: 'True' }] }),
    ],
  ])('is left to the user for %s', (_, request) => {
    expect(mayBeApproved(request, nodes, ['10.96.0.1'])).toBe(false);
  });
});
