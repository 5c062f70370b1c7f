import { describe, expect, it } from 'vitest';
import { type CertificateSigningRequest, newSigningRequest } from '../../kube/index.ts';
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
      ...spec,
    },
    status,
  };
}

describe('the serving certificate of a node', () => {
  it('is approved for its own name and address', () => {
    expect(mayBeApproved(csr(['node-a'], ['127.64.0.1']), nodes)).toBe(true);
  });

  it.each([
    ['the address of another node', csr(['node-a'], ['127.64.0.2'])],
    ['an address of the API server', csr(['node-a'], ['127.64.0.1', '127.0.0.1'])],
    ['the name of the API server', csr(['kubernetes'], ['127.64.0.1'])],
    ['no address at all', csr([], [])],
    ['somebody who is no node', csr(['node-a'], ['127.64.0.1'], { username: 'eve' })],
    ['a node that is not in the layout', csr(['node-a'], ['127.64.0.1'], { username: 'system:node:node-z' })],
    ['another node', csr(['node-a'], ['127.64.0.1'], { username: 'system:node:node-b' })],
    [
      'another signer',
      csr(['node-a'], ['127.64.0.1'], { signerName: 'kubernetes.io/kube-apiserver-client' }),
    ],
    [
      'one that was denied',
      csr(['node-a'], ['127.64.0.1'], {}, { conditions: [{ type: 'Denied', status: 'True' }] }),
    ],
  ])('is left to the user for %s', (_, request) => {
    expect(mayBeApproved(request, nodes)).toBe(false);
  });
});
