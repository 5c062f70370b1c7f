import type { CertificateSigningRequest } from '@tidegate/kube';
import { newSigningRequest } from '@tidegate/kube/certificates';
import { describe, expect, it } from 'vitest';
import { judge, KUBERNETES_NAMES, LOOPBACK_NAMES, type ServingNames } from './judge.ts';

const names: ServingNames = {
  of: (node) =>
    node === 'n1' ? ['n1', '192.0.2.1', '2001:db8::1'] : node === 'n2' ? ['n2', '192.0.2.2'] : [],
  hubs: ['169.254.2.1', '10.96.0.1', ...KUBERNETES_NAMES, ...LOOPBACK_NAMES],
};

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

describe('a serving certificate is approved', () => {
  it.each<[string, Asked]>([
    ['of a kubelet, for its node', { names: ['n1'], addresses: ['192.0.2.1'] }],
    ['whatever way an address or a name is written', { names: ['N1'], addresses: ['2001:db8:0:0::1'] }],
    [
      'of a hub',
      {
        names: [...KUBERNETES_NAMES, 'localhost'],
        addresses: ['169.254.2.1', '127.0.0.1', '10.96.0.1', '192.0.2.1'],
      },
    ],
    [
      'of a hub whose node is not registered yet',
      { by: 'new', names: ['kubernetes'], addresses: ['169.254.2.1'] },
    ],
    [
      'with key encipherment',
      { names: ['n1'], spec: { usages: ['key encipherment', 'digital signature', 'server auth'] } },
    ],
  ])('%s', (_, asked) => {
    const by = asked.by ?? 'n1';
    expect(judge(csr(asked), names)).toEqual({ approve: true, node: by });
  });
});

describe('a serving certificate is left to people', () => {
  it.each<[string, Asked, string]>([
    [
      'another node’s address',
      { addresses: ['192.0.2.2'] },
      'not known to be the node\'s, or every hub\'s: "192.0.2.2"',
    ],
    ['another node’s name', { names: ['n1', 'n2'] }, '"n2"'],
    ['a name of somebody else', { names: ['bank.example', 'kubernetes'] }, '"bank.example"'],
    ['all names', { names: ['*', '*.default.svc'] }, '"*", "*.default.svc"'],
    ['the address of a node that is not known', { by: 'new', addresses: ['192.0.2.1'] }, '"192.0.2.1"'],
    ['no name', {}, 'no DNS name and no IP address'],
    ['another node', { by: 'n2', commonName: 'system:node:n1', names: ['n1'] }, 'must be that of who asks'],
    ['another group', { organizations: ['system:masters'], names: ['n1'] }, 'must be system:nodes alone'],
    [
      'a further group',
      { organizations: ['system:nodes', 'x'], names: ['n1'] },
      'must be system:nodes alone',
    ],
    [
      'more uses',
      { names: ['n1'], spec: { usages: ['digital signature', 'server auth', 'client auth'] } },
      'usages',
    ],
    ['other uses', { names: ['n1'], spec: { usages: ['digital signature', 'client auth'] } }, 'usages'],
    ['a person', { names: ['n1'], spec: { username: 'jane' } }, '"jane", who asks, is not a node'],
    [
      'a person who calls herself a node',
      { names: ['n1'], spec: { groups: ['system:authenticated'] } },
      'not a node',
    ],
    ['a request that is none', { spec: { request: 'YWJj' } }, 'can not be read: PEM block type'],
  ])('for %s', (_, asked, why) => {
    const judgement = judge(csr(asked), names);
    expect(judgement).toEqual({ approve: false, why: expect.stringContaining(why) });
  });
});

describe('a request is none of our business', () => {
  it.each<[string, Asked]>([
    ['for another signer', { names: ['n1'], spec: { signerName: 'example.com/serving' } }],
    ['when it was denied', { names: ['n1'], status: { conditions: [{ type: 'Denied', status: 'True' }] } }],
    [
      'when it was approved',
      { names: ['n1'], status: { conditions: [{ type: 'Approved', status: 'True' }] } },
    ],
    ['when it was signed', { names: ['n1'], status: { certificate: 'eA==' } }],
  ])('%s', (_, asked) => {
    expect(judge(csr(asked), names)).toBeUndefined();
  });
});
