import { expect, it } from 'vitest';
import type { Delta } from '../ingress/model.ts';
import { storedConfigMaps, storedSecrets } from './stored-secrets.ts';

const NONE = { set: [], remove: [] };

it('restores Secrets with certificates, users and authorities, and ConfigMaps, from a stored table', () => {
  const before: Delta = {
    ...{ from: 0, to: 1, hosts: NONE, upstreams: NONE },
    certificates: {
      set: [{ host: 'a.io', secret: 'shop/both', certificate: 'C', key: 'K', fingerprint: 'f' }],
      remove: [],
    },
    credentials: {
      set: [
        { id: 'shop/both#client-ca', users: {}, client: { certificate: 'C', key: 'K', authorities: 'A' } },
        { id: 'shop/ca#ca', users: {}, authorities: { certificates: ['A', 'B'], revoked: ['R'] } },
        { id: 'shop/both#auth-headers', users: {}, headers: { 'X-A': '1' } },
        { id: 'shop/both#headers=x-b', users: {}, headers: { 'X-B': '2' } },
        { id: 'shop/users', users: { ann: 'x' } },
        { id: 'shop/users#map', users: { auth: 'y', bob: 'z' } },
      ],
      remove: [],
    },
  };
  const found = storedSecrets(before).map(({ metadata, type, data = {} }) => [
    metadata.name,
    type,
    Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    ),
  ]);
  expect(found.sort()).toEqual([
    ['both', 'kubernetes.io/tls', { 'tls.crt': 'C', 'tls.key': 'K', 'ca.crt': 'A' }],
    ['ca', 'Opaque', { 'ca.crt': 'AB', 'ca.crl': 'R' }],
    ['users', 'Opaque', { auth: 'ann:x\n', bob: 'z' }],
  ]);
  expect(storedConfigMaps(before)).toMatchObject([
    { metadata: { namespace: 'shop', name: 'both' }, data: { 'X-A': '1', 'X-B': '2' } },
  ]);
});
