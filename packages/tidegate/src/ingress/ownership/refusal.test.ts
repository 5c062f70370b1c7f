import { describe, expect, it } from 'vitest';
import type { IngressClassPolicy } from '../../api/index.ts';
import { hostClaim } from '../testing/objects.ts';
import { ClaimIndex, ownershipOf } from './claim-index.ts';
import { refusalOf } from './refusal.ts';

const refuse = (host: string, policy?: IngressClassPolicy['spec'], claims = new ClaimIndex()) =>
  refusalOf({ className: 'gold', classNames: ['gold'], host, namespace: 'shop' }, claims, policy);

describe('a wildcard above a public suffix', () => {
  it.each([
    '*.com',
    '*.co.uk',
    '*.github.io',
    '*.internal',
    '*.kawasaki.jp',
    '*.xn--p1ai',
    '*.xn--55qx5d.cn',
  ])('%s is refused', (host) => {
    expect(refuse(host)).toEqual({
      reason: 'HostNotAllowed',
      message: `Namespace shop may not use host ${host} with IngressClass gold: ${host.slice(2)} is a public suffix, and the wildcard would cover the hosts of others. Name the hosts, or ask an administrator to set publicSuffixWildcards: Allow in IngressClassPolicy gold.`,
    });
    expect(refuse(host, { allow: [{ namespaces: ['shop'] }] })?.reason).toBe('HostNotAllowed');
    expect(refuse(host, { publicSuffixWildcards: 'Allow' })).toBeUndefined();
    expect(refuse(host, { publicSuffixWildcards: 'Allow', allow: [] })?.message).toContain(
      'may not use IngressClass',
    );
  });

  it.each([
    '*.example.com',
    '*.example.co.uk',
    'example.com',
    'com',
    '*',
    '*.shop.internal',
    '*.a.github.io',
  ])('%s is not one', (host) => {
    expect(refuse(host)).toBeUndefined();
  });
});

describe('a reserved host', () => {
  it('is refused to other namespaces, with the time and how to end it', () => {
    const claims = new ClaimIndex();
    const claim = hostClaim('*.example.com', 'bank');
    const until = '2026-06-01T00:00:00.000Z';
    claims.put(ownershipOf({ ...claim, spec: { ...claim.spec, reservedUntil: until } }));
    const text = `is reserved for namespace bank until ${until}, because it belonged to this namespace. To end that, an administrator can delete HostClaim ${claim.metadata.name}.`;
    expect(refuse('*.example.com', undefined, claims)?.message).toBe(`Host *.example.com ${text}`);
    expect(refuse('a.example.com', undefined, claims)?.message).toBe(
      `Host a.example.com is below *.example.com, which ${text}`,
    );
    expect(claims.reservedFor('bank')).toBe(1);
    claims.put(ownershipOf(claim));
    expect(claims.reservedFor('bank')).toBe(0);
  });
});
