import { describe, expect, it } from 'vitest';
import type { YurtIngress, YurtIngressSpec } from '../../api/index.ts';
import type { AdmissionRequest, Operation, Verdict } from '../review.ts';
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

function judge(
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
  const { problems = [], warnings = [] } = rule.judge(request) as Verdict;
  return [
    ...problems.map(({ path, message }) => `${path}: ${message}`),
    ...warnings.map((text) => `warning: ${text}`),
  ];
}

describe('a YurtIngress', () => {
  it('may have pools that nobody has, or that another lets go', () => {
    expect(
      judge([{ name: 'hangzhou', ingress_ips: ['192.0.2.2'] }, { name: 'shanghai' }], undefined, [
        'hangzhou',
        'shanghai',
      ]),
    ).toEqual([]);
    expect(judge(undefined)).toEqual([]);
  });

  it('is told who has the pool', () => {
    expect(judge([{ name: 'beijing' }], undefined, ['beijing'])).toEqual([
      'spec.pools[0].name: pool beijing is in YurtIngress other already: take it out there first',
    ]);
  });

  it('is warned of pools that are not there, also when there is none at all', () => {
    expect(judge([{ name: 'hangzou' }], undefined, [])).toEqual([
      'warning: spec.pools[0].name: there is no NodePool or NodeGroup "hangzou" yet',
    ]);
  });

  it.each([
    [
      'no address',
      { ingress_ips: ['192.0.2.2', 'example.com'] },
      'spec.pools[0].ingress_ips[1]: "example.com" is no IP address: write one such as 192.0.2.7',
    ],
    [
      "another's",
      { ingress_ips: ['192.0.2.1'] },
      'spec.pools[0].ingress_ips[0]: 192.0.2.1 leads to pool beijing of YurtIngress other already: an address can lead to one pool only',
    ],
    [
      "another's in other words",
      { ingressIPs: ['2001:DB8:0::1'] },
      'spec.pools[0].ingressIPs[0]: 2001:DB8:0::1 leads to pool beijing of YurtIngress other already: an address can lead to one pool only',
    ],
  ])('must give its pools good addresses: %s', (_, addresses, expected) => {
    expect(judge([{ name: 'hangzhou', ...addresses }])).toEqual([expected]);
  });

  it('can not give one address to two pools', () => {
    const pools = ['hangzhou', 'wuhan'].map((name) => ({ name, ingress_ips: ['192.0.2.2'] }));
    expect(judge(pools, undefined, ['hangzhou', 'wuhan'])).toEqual([
      'spec.pools[1].ingress_ips[0]: 192.0.2.2 leads to pool hangzhou already: an address can lead to one pool only',
    ]);
  });

  it('can be changed elsewhere in spite of what was let in before', () => {
    expect(
      judge([{ name: 'beijing' }, { name: 'hangzhou' }], [{ name: 'beijing' }], ['hangzhou', 'beijing']),
    ).toEqual([
      'warning: spec.pools[0].name: pool beijing is in YurtIngress other already: take it out there first',
    ]);
  });

  it('can always be deleted', () => {
    expect(yurtIngressRule({ hasPool: () => false }, { list: () => [] }).operations).not.toContain('DELETE');
  });
});
