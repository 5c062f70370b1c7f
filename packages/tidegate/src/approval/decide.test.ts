import type { CertificateSigningRequest } from '@tidegate/kube';
import { newSigningRequest } from '@tidegate/kube/certificates';
import { describe, expect, it } from 'vitest';
import { decide, KUBERNETES_NAMES, LOOPBACK_NAMES, type ServingNames } from './decide.ts';

const names: ServingNames = {
  refusalOf: (node, address) => {
    const vouched = node === 'n1' ? ['192.0.2.1', '2001:db8::1'] : node === 'n2' ? ['192.0.2.2'] : [];
    return vouched.includes(address) ? undefined : 'not in the pool';
  },
  hubs: ['169.254.2.1', '10.96.0.1', ...KUBERNETES_NAMES, ...LOOPBACK_NAMES],
};

/** What a CertificateSigningRequest contains; by default, what node n1 may request. */
interface Asked {
  by?: string;
  commonName?: string;
  organizations?: string[];
  names?: string[];
  addresses?: string[];
  spec?: Partial<CertificateSigningRequest['spec']>;
  status?: CertificateSigningRequest['status'];
}

function csr({ by = 'n1', ...asked }: Asked): CertificateSigningRequest {
  const { request } = newSigningRequest({
    commonName: asked.commonName ?? `system:node:${by}`,
    organizations: asked.organizations ?? ['system:nodes'],
    dnsNames: asked.names ?? [],
    ipAddresses: asked.addresses ?? [],
  });
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'x' },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kubelet-serving',
      username: `system:node:${by}`,
      groups: ['system:nodes', 'system:authenticated'],
      usages: ['digital signature', 'server auth'],
      ...asked.spec,
    },
    status: asked.status,
  };
}

describe('decide approves a serving certificate', () => {
  it.each<[string, Asked]>([
    [
      'of a kubelet, for the name of its node and vouched addresses',
      { names: ['n1'], addresses: ['192.0.2.1'] },
    ],
    ['with other spellings of an address and a name', { names: ['N1'], addresses: ['2001:db8:0:0::1'] }],
    [
      'of a hub',
      {
        names: [...KUBERNETES_NAMES, 'localhost'],
        addresses: ['169.254.2.1', '127.0.0.1', '10.96.0.1', '192.0.2.1'],
      },
    ],
    [
      'of a hub whose Node does not exist yet',
      { by: 'new', names: ['kubernetes'], addresses: ['169.254.2.1'] },
    ],
    ['with an IPv4 address in the form of IPv6', { addresses: ['::ffff:192.0.2.1'] }],
    [
      'with key encipherment',
      { names: ['n1'], spec: { usages: ['key encipherment', 'digital signature', 'server auth'] } },
    ],
  ])('%s', (_, asked) => {
    const by = asked.by ?? 'n1';
    expect(decide(csr(asked), names)).toEqual({ approve: true, node: by });
  });
});

describe('decide does not approve a serving certificate', () => {
  it.each<[string, Asked, string]>([
    [
      'that contains the address of another node',
      { addresses: ['192.0.2.2'] },
      'no other party than the node vouches for: "192.0.2.2" (not in the pool)',
    ],
    [
      'that contains the address of another node as IPv6',
      { addresses: ['::ffff:192.0.2.2'] },
      'not in the pool',
    ],
    ['that contains the name of another node', { names: ['n1', 'n2'] }, '"n2"'],
    ['that contains an external name', { names: ['bank.example', 'kubernetes'] }, '"bank.example"'],
    [
      'that contains wildcards',
      { names: ['*', '*.default.svc'] },
      '"*.default.svc" (the only DNS name of a node is',
    ],
    [
      'that contains an address, for a node without a Node object',
      { by: 'new', addresses: ['192.0.2.1'] },
      '"192.0.2.1"',
    ],
    [
      'that contains an address, for a node whose name is this address',
      { by: '192.0.2.9', addresses: ['192.0.2.9'] },
      '"192.0.2.9" (not in the pool)',
    ],
    ['that contains no name', {}, 'no DNS name and no IP address'],
    [
      'with the common name of another node',
      { by: 'n2', commonName: 'system:node:n1', names: ['n1'] },
      'must be the requester, system:node:n2',
    ],
    [
      'with another group',
      { organizations: ['system:masters'], names: ['n1'] },
      'they must be ["system:nodes"]',
    ],
    [
      'with an additional group',
      { organizations: ['system:nodes', 'x'], names: ['n1'] },
      'they must be ["system:nodes"]',
    ],
    [
      'with an additional usage',
      { names: ['n1'], spec: { usages: ['digital signature', 'server auth', 'client auth'] } },
      'usages',
    ],
    [
      'with other usages',
      { names: ['n1'], spec: { usages: ['digital signature', 'client auth'] } },
      'usages',
    ],
    ['of a user', { names: ['n1'], spec: { username: 'jane' } }, 'spec.username "jane" is not a node'],
    [
      'of a user with the username of a node, but not its group',
      { names: ['n1'], spec: { groups: ['system:authenticated'] } },
      'not a node',
    ],
    ['with a request that is not PEM', { spec: { request: 'YWJj' } }, 'cannot be parsed: PEM block type'],
  ])('%s', (_, asked, why) => {
    const decision = decide(csr(asked), names);
    expect(decision).toEqual({ approve: false, why: expect.stringContaining(why) });
  });
});

describe('decide ignores a request', () => {
  it.each<[string, Asked]>([
    ['for another signer', { names: ['n1'], spec: { signerName: 'example.com/serving' } }],
    ['that is denied', { names: ['n1'], status: { conditions: [{ type: 'Denied', status: 'True' }] } }],
    ['that is approved', { names: ['n1'], status: { conditions: [{ type: 'Approved', status: 'True' }] } }],
    ['that is signed', { names: ['n1'], status: { certificate: 'eA==' } }],
  ])('%s', (_, asked) => {
    expect(decide(csr(asked), names)).toBeUndefined();
  });
});
