import { describe, expect, it } from 'vitest';
import type { YurtIngress, YurtIngressSpec } from '../../api/index.ts';
import type { AdmissionRequest, AdmissionResult, Operation } from '../review.ts';
import { yurtIngressRule } from './yurt-ingress.ts';

const yurtIngress = (name: string, spec: YurtIngressSpec, metadata: object = {}): YurtIngress => ({
  apiVersion: 'apps.openyurt.io/v1alpha1',
  kind: 'YurtIngress',
  metadata: { name, ...metadata },
  spec,
});

const existing = [
  yurtIngress('other', { pools: [{ name: 'beijing', ingressIPs: ['192.0.2.1', '2001:db8::1'] }] }),
  yurtIngress('leaving', { pools: [{ name: 'shanghai' }] }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
];

function review(
  pools: YurtIngressSpec['pools'],
  before?: YurtIngressSpec['pools'],
  known = ['hangzhou'],
): string[] {
  const operation: Operation = before === undefined ? 'CREATE' : 'UPDATE';
  const rule = yurtIngressRule({ hasPool: (_, name) => known.includes(name) }, { list: () => existing });
  const request: AdmissionRequest = {
    uid: 'u',
    kind: { group: rule.group, version: 'v1alpha1', kind: 'YurtIngress' },
    resource: { group: rule.group, version: 'v1alpha1', resource: rule.resource },
    name: 'doors',
    operation,
    userInfo: { username: 'ann' },
    object: yurtIngress('doors', { ...(pools && { pools }) }),
    oldObject: before === undefined ? null : yurtIngress('doors', { pools: before }),
  };
  const { problems = [], warnings = [] } = rule.evaluate(request) as AdmissionResult;
  return [
    ...problems.map(({ path, message }) => `${path}: ${message}`),
    ...warnings.map((text) => `warning: ${text}`),
  ];
}

describe('a YurtIngress', () => {
  it('accepts pools that are free, or whose YurtIngress is being deleted', () => {
    expect(
      review([{ name: 'hangzhou', ingress_ips: ['192.0.2.2'] }, { name: 'shanghai' }], undefined, [
        'hangzhou',
        'shanghai',
      ]),
    ).toEqual([]);
    expect(review(undefined)).toEqual([]);
  });

  it('rejects a pool of another YurtIngress', () => {
    expect(review([{ name: 'beijing' }], undefined, ['beijing'])).toEqual([
      'spec.pools[0].name: pool beijing already belongs to YurtIngress other: remove it there first',
    ]);
  });

  it('warns about pools that do not exist', () => {
    expect(review([{ name: 'hangzou' }], undefined, [])).toEqual([
      'warning: spec.pools[0].name: NodePool or NodeGroup "hangzou" not found',
    ]);
  });

  it.each([
    [
      'not an address',
      { ingress_ips: ['192.0.2.2', 'example.com'] },
      'spec.pools[0].ingress_ips[1]: "example.com" is not a valid IP address: write one, for example 192.0.2.7',
    ],
    [
      'used by another pool',
      { ingress_ips: ['192.0.2.1'] },
      'spec.pools[0].ingress_ips[0]: 192.0.2.1 is already used by pool beijing of YurtIngress other: an address can belong to one pool only',
    ],
    [
      'used by another pool in a different spelling',
      { ingressIPs: ['2001:DB8:0::1'] },
      'spec.pools[0].ingressIPs[0]: 2001:DB8:0::1 is already used by pool beijing of YurtIngress other: an address can belong to one pool only',
    ],
  ])('rejects an invalid address: %s', (_, addresses, expected) => {
    expect(review([{ name: 'hangzhou', ...addresses }])).toEqual([expected]);
  });

  it('rejects one address for two pools', () => {
    const pools = ['hangzhou', 'wuhan'].map((name) => ({ name, ingress_ips: ['192.0.2.2'] }));
    expect(review(pools, undefined, ['hangzhou', 'wuhan'])).toEqual([
      'spec.pools[1].ingress_ips[0]: 192.0.2.2 is already used by pool hangzhou: an address can belong to one pool only',
    ]);
  });

  it('only warns about a pool that was accepted before', () => {
    expect(
      review([{ name: 'beijing' }, { name: 'hangzhou' }], [{ name: 'beijing' }], ['hangzhou', 'beijing']),
    ).toEqual([
      'warning: spec.pools[0].name: pool beijing already belongs to YurtIngress other: remove it there first',
    ]);
  });

  it('can always be deleted', () => {
    expect(yurtIngressRule({ hasPool: () => false }, { list: () => [] }).operations).not.toContain('DELETE');
  });
});
