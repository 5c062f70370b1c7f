import { evaluate } from '@marcbachmann/cel-js';
import { type Ingress, type IngressClass, keyOf, type Secret, type Service } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { CLASS, type IngressWords, ingress, secret, service } from '../../ingress/testing/objects.ts';
import type { AdmissionRequest, Verdict } from '../review.ts';
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
      // The compiler tells itself who names what.
      ingressesNaming: () => ingresses,
      service: (key) => services.find((each) => keyOf(each) === key),
      secret: (key) => secrets.find((each) => keyOf(each) === key),
    },
    () => NOW,
  );

function judge(words: IngressWords, cluster: Cluster = {}, before?: IngressWords): string[] {
  const [object, oldObject] = [ingress(words), before === undefined ? null : ingress(before)];
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
  const { problems = [], warnings = [] } = rule.judge(request) as Verdict;
  return [
    ...problems.map(({ path, message }) => `${path}: ${message}`),
    ...warnings.map((text) => `warning: ${text}`),
  ];
}

describe('an Ingress of a class that is ours', () => {
  const rules = { 'a.example.com/': 'a:http' };

  it('is let in when nothing is wrong with it', () => {
    expect(judge({ rules })).toEqual([]);
  });

  it('can not take the host of another namespace', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(judge({ rules }, { ingresses: [owner] })).toEqual([
      'spec.rules[0].host: The host a.example.com belongs to namespace bank: Ingress bank/till named it first. Nothing is served for it from here.',
    ]);
  });

  it('can not take a path that another has, even if it is older itself', () => {
    const owner = ingress({ name: 'first', age: 60, rules });
    const taken =
      'spec.rules[1].http.paths[0].path: Prefix / of a.example.com is served by Ingress shop/first, which is older.';
    const before = { age: 3600, rules: { 'b.example.com/': 'a:http' } };
    expect(
      judge({ age: 3600, rules: { ...before.rules, ...rules } }, { ingresses: [owner] }, before),
    ).toEqual([taken]);
  });

  it('can be changed elsewhere in spite of a conflict that was let in before', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    const after = { rules: { 'b.example.com/': 'a:http', ...rules } };
    expect(judge(after, { ingresses: [owner] }, { rules })).toEqual([
      expect.stringMatching(
        /^warning: spec.rules\[1\].host: The host a.example.com belongs to namespace bank/,
      ),
    ]);
  });

  it('is not asked about when neither its spec nor its annotations change', () => {
    const owner = ingress({ namespace: 'bank', name: 'till', age: 60, rules });
    expect(judge({ rules }, { ingresses: [owner] }, { rules })).toEqual([]);
  });

  it('is told which annotations there are, and what they may say', () => {
    expect(judge({ rules, annotations: { 'tidegate.io/balance': 'random' } })).toEqual([
      expect.stringContaining(
        'metadata.annotations[tidegate.io/balance]: tidegate.io/balance can not be "random"; write ',
      ),
    ]);
    expect(judge({ rules, annotations: { 'tidegate.io/ballance': 'x', 'example.com/y': 'z' } })).toEqual([
      expect.stringContaining('Nothing is known by the name tidegate.io/ballance; known are '),
    ]);
  });

  it('is warned of Services and ports that are not there', () => {
    expect(judge({ rules: { 'a.example.com/': 'nope:80' } })).toEqual([
      expect.stringMatching(/^warning: .*shop\/nope/),
    ]);
    expect(judge({ rules: { 'a.example.com/': 'a:nope' } })).toEqual([
      expect.stringMatching(/^warning: .*nope/),
    ]);
  });

  it('may come before its certificate, but not with one that can not be served', async () => {
    const tls = [{ hosts: ['a.example.com'], secretName: 'cert' }];
    expect(judge({ rules, tls })).toEqual(['warning: spec.tls[0].secretName: There is no Secret shop/cert.']);
    const broken = secret('cert', { certificate: 'x', key: 'y' });
    expect(judge({ rules, tls }, { secrets: [broken] })).toEqual([
      'spec.tls[0].secretName: Secret shop/cert can not be served: tls.crt has no PEM certificate.',
    ]);
  });
});

describe('an Ingress of a class that is not ours', () => {
  it.each(['other', 'unknown', ''])('is let in as it is: %s', (className) => {
    expect(
      judge({ className, annotations: { 'tidegate.io/x': 'y' }, rules: { 'a.example.com/': 'nope:1' } }),
    ).toEqual([]);
  });

  it('is not even asked about', () => {
    const [condition, ...more] = ruleOf().matchConditions?.() ?? [];
    expect(more).toEqual([]);
    const isAsked = (object: object): unknown => evaluate(`${condition?.expression}`, { object });
    expect(isAsked(ingress())).toBe(true);
    expect(isAsked(ingress({ className: 'other' }))).toBe(false);
    expect(isAsked({ metadata: {}, spec: {} })).toBe(false);
    expect(isAsked({ metadata: { annotations: { 'kubernetes.io/ingress.class': CLASS } } })).toBe(true);
    expect(isAsked({ metadata: { annotations: { 'kubernetes.io/ingress.class': 'other' } }, spec: {} })).toBe(
      false,
    );
  });
});
