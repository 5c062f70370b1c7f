import { type IngressClass, type KubeObject, Store } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { type AdmissionRequest, answer, type Verdict } from '../review.ts';
import { defaultIngressClassRule } from './default-ingress-class.ts';
import { ingressClassParametersRule } from './ingress-class-parameters.ts';
import { l7RouterRule } from './l7-router.ts';

const classes = new Store<IngressClass>(() => {});
const requestFor = (object: Partial<KubeObject>, oldObject?: Partial<KubeObject>): AdmissionRequest => ({
  uid: 'u',
  kind: { group: 'g', version: 'v1', kind: 'K' },
  resource: { group: 'g', version: 'v1', resource: 'ks' },
  operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
  userInfo: { username: 'ann' },
  object: { apiVersion: 'g/v1', kind: 'K', metadata: { name: 'x' }, ...object },
  ...(oldObject && { oldObject: { apiVersion: 'g/v1', kind: 'K', metadata: { name: 'x' }, ...oldObject } }),
});

describe('an Ingress without a class', () => {
  const judge = (object: Partial<KubeObject>) =>
    defaultIngressClassRule(classes).judge(requestFor(object)) as Verdict;
  const ingressClass = (name: string, day: number, isDefault = 'true'): IngressClass => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: {
      name,
      creationTimestamp: `2026-01-0${day}T00:00:00Z`,
      annotations: { 'ingressclass.kubernetes.io/is-default-class': isDefault },
    },
  });

  it('gets the default class, of several the newest', () => {
    expect(judge({ spec: {} })).toEqual({});
    classes.set(ingressClass('silver', 1));
    classes.set(ingressClass('gold', 2));
    classes.set(ingressClass('bronze', 3, 'yes'));
    classes.set(ingressClass('zinc', 2));
    const verdict = judge({ spec: {} });
    expect(verdict.patch).toEqual([{ op: 'add', path: '/spec/ingressClassName', value: 'gold' }]);
    const { response } = answer('v1', requestFor({}), verdict) as { response: { patch: string } };
    expect(response).toMatchObject({ allowed: true, patchType: 'JSONPatch' });
    expect(JSON.parse(Buffer.from(response.patch, 'base64').toString())).toEqual(verdict.patch);
  });

  it('keeps the one that it names, in either way', () => {
    expect(judge({ spec: { ingressClassName: 'silver' } })).toEqual({});
    const metadata = { name: 'x', annotations: { 'kubernetes.io/ingress.class': '' } };
    expect(judge({ metadata, spec: {} })).toEqual({});
  });
});

describe('IngressClassParameters', () => {
  const judge = (parameters: object, old?: object) =>
    ingressClassParametersRule().judge(requestFor({ parameters }, old && { parameters: old })) as Verdict;

  it('have 256 KiB at most, names and values together', () => {
    const value = 'ä'.repeat(128 * 1024 - 1);
    expect(judge({ ab: value })).toEqual({});
    expect(judge({ abc: value }).problems).toEqual([
      { path: 'parameters', message: expect.stringContaining('together have 262145 bytes') },
    ]);
    expect(judge({ abc: value }, { abc: value })).toEqual({});
  });
});

describe('an L7Router', () => {
  const judge = (spec: object) => l7RouterRule(classes).judge(requestFor({ spec })) as Verdict;

  it('is told which hosts and addresses can not be', () => {
    const { problems = [], warnings } = judge({
      ingressClassName: 'gold',
      sharedWith: ['none'],
      hosts: ['a.example', 'B.example', '*.example', 'a..b'],
      leaving: ['a.example', 'c.example'],
      workload: { addresses: ['203.0.113.7', 'here'] },
    });
    expect(problems.map(({ path }) => path)).toEqual([
      'spec.hosts[1]',
      'spec.hosts[3]',
      'spec.leaving[1]',
      'spec.workload.addresses[1]',
    ]);
    expect(warnings).toEqual(['spec: there is no IngressClass "none" yet']);
  });
});
