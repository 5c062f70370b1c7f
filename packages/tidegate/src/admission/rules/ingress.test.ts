import { evaluate } from '@marcbachmann/cel-js';
import { type Ingress, type IngressClass, keyOf, type Secret, type Service } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { CLASS, type IngressFields, ingress, secret, service } from '../../ingress/testing/objects.ts';
import type { AdmissionRequest, AdmissionResult } from '../review.ts';
import { ingressRule } from './ingress.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');

const ingressClass = (name: string, controller: string): IngressClass => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name },
  spec: { controller },
});
const classes = [ingressClass(CLASS, 'tidegate.io/nginx'), ingressClass('other', 'example.com/other')];

interface Cluster {
  ingresses?: Ingress[];
  services?: Service[];
  secrets?: Secret[];
}

const ruleOf = ({ ingresses = [], services = [service('a')], secrets = [] }: Cluster = {}) =>
  ingressRule(
    {
      classes: { get: (name) => classes.find(({ metadata }) => metadata.name === name), list: () => classes },
      // The compiler itself selects the Ingresses for each host.
      ingressesNaming: () => ingresses,
      service: (key) => services.find((each) => keyOf(each) === key),
      secret: (key) => secrets.find((each) => keyOf(each) === key),
    },
    () => NOW,
  );

function review(fields: IngressFields, cluster: Cluster = {}, before?: IngressFields): string[] {
  const [object, oldObject] = [ingress(fields), before === undefined ? null : ingress(before)];
  const rule = ruleOf({
    ...cluster,
    ingresses: [...(cluster.ingresses ?? []), ...(oldObject ? [oldObject] : [])],
  });
  const request: AdmissionRequest = {
    uid: 'u',
    kind: { group: rule.group, version: 'v1', kind: 'Ingress' },
    resource: { group: rule.group, version: 'v1', resource: rule.resource },
    name: object.metadata.name ?? '',
    namespace: object.metadata.namespace ?? '',
    operation: oldObject === null ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'ann' },
    object,
    oldObject,
  };
  const { problems = [], warnings = [] } = rule.evaluate(request) as AdmissionResult;
  return [
    ...problems.map(({ path, message }) => `${path}: ${message}`),
    ...warnings.map((text) => `warning: ${text}`),
  ];
}

describe('an Ingress of a class that Tidegate serves', () => {
  const rules = { 'a.example.com/': 'a:http' };

  it('is accepted if it is valid', () => {
    expect(review({ rules })).toEqual([]);
  });

  it('cannot use a host of another namespace', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(review({ rules }, { ingresses: [owner] })).toEqual([
      'spec.rules[0].host: Host a.example.com belongs to namespace bank, because Ingress bank/till is older. An Ingress of another namespace cannot use it.',
    ]);
  });

  it('cannot use a path of another Ingress, even if it is older itself', () => {
    const owner = ingress({ name: 'first', age: 60, rules });
    const taken =
      'spec.rules[1].http.paths[0].path: Prefix / of a.example.com is already served by Ingress shop/first, which is older.';
    const before = { age: 3600, rules: { 'b.example.com/': 'a:http' } };
    expect(
      review({ age: 3600, rules: { ...before.rules, ...rules } }, { ingresses: [owner] }, before),
    ).toEqual([taken]);
  });

  it('gets a warning for a conflict that was accepted before', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    const after = { rules: { 'b.example.com/': 'a:http', ...rules } };
    expect(review(after, { ingresses: [owner] }, { rules })).toEqual([
      expect.stringMatching(/^warning: spec.rules\[1\].host: Host a.example.com belongs to namespace bank/),
    ]);
  });

  it('is not checked if neither its spec nor its annotations change', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(review({ rules }, { ingresses: [owner] }, { rules })).toEqual([]);
  });

  it('is rejected with a list of the supported annotations and values', () => {
    expect(review({ rules, annotations: { 'tidegate.io/balance': 'random' } })).toEqual([
      expect.stringContaining('metadata.annotations[tidegate.io/balance]: Invalid value "random": write '),
    ]);
    expect(review({ rules, annotations: { 'tidegate.io/ballance': 'x', 'example.com/y': 'z' } })).toEqual([
      expect.stringContaining('Unknown annotation tidegate.io/ballance. Supported annotations: '),
    ]);
  });

  it('gets a warning for missing Services and ports', () => {
    expect(review({ rules: { 'a.example.com/': 'nope:80' } })).toEqual([
      expect.stringMatching(/^warning: .*shop\/nope/),
    ]);
    expect(review({ rules: { 'a.example.com/': 'a:nope' } })).toEqual([
      expect.stringMatching(/^warning: .*nope/),
    ]);
  });

  it('may be created before its Secret, but not with an invalid certificate', async () => {
    const tls = [{ hosts: ['a.example.com'], secretName: 'cert' }];
    expect(review({ rules, tls })).toEqual(['warning: spec.tls[0].secretName: Secret shop/cert not found.']);
    const broken = secret('cert', { certificate: 'x', key: 'y' });
    expect(review({ rules, tls }, { secrets: [broken] })).toEqual([
      'spec.tls[0].secretName: Secret shop/cert is invalid: tls.crt contains no PEM certificate.',
    ]);
  });
});

describe('an Ingress of another class', () => {
  it.each(['other', 'unknown', ''])('is accepted unchecked: %s', (className) => {
    expect(
      review({ className, annotations: { 'tidegate.io/x': 'y' }, rules: { 'a.example.com/': 'nope:1' } }),
    ).toEqual([]);
  });

  it('does not match the conditions of the webhook', () => {
    const [condition, ...more] = ruleOf().matchConditions?.() ?? [];
    expect(more).toEqual([]);
    const matches = (object: object): unknown => evaluate(`${condition?.expression}`, { object });
    expect(matches(ingress())).toBe(true);
    expect(matches(ingress({ className: 'other' }))).toBe(false);
    expect(matches({ metadata: {}, spec: {} })).toBe(false);
    expect(matches({ metadata: { annotations: { 'kubernetes.io/ingress.class': CLASS } } })).toBe(true);
    expect(matches({ metadata: { annotations: { 'kubernetes.io/ingress.class': 'other' } }, spec: {} })).toBe(
      false,
    );
  });
});
