import { type IngressClass, type KubeObject, Store } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { type AdmissionRequest, type AdmissionResult, reviewResponse } from '../review.ts';
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
  const review = (object: Partial<KubeObject>) =>
    defaultIngressClassRule(classes).evaluate(requestFor(object)) as AdmissionResult;
  const ingressClass = (name: string, day: number, isDefault = 'true'): IngressClass => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: {
      name,
      creationTimestamp: `2026-01-0${day}T00:00:00Z`,
      annotations: { 'ingressclass.kubernetes.io/is-default-class': isDefault },
    },
  });

  it('gets the newest default class', () => {
    expect(review({ spec: {} })).toEqual({});
    classes.set(ingressClass('silver', 1));
    classes.set(ingressClass('gold', 2));
    classes.set(ingressClass('bronze', 3, 'yes'));
    classes.set(ingressClass('zinc', 2));
    const result = review({ spec: {} });
    expect(result.patch).toEqual([{ op: 'add', path: '/spec/ingressClassName', value: 'gold' }]);
    const { response } = reviewResponse('v1', requestFor({}), result) as { response: { patch: string } };
    expect(response).toMatchObject({ allowed: true, patchType: 'JSONPatch' });
    expect(JSON.parse(Buffer.from(response.patch, 'base64').toString())).toEqual(result.patch);
  });

  it('keeps the class in its field or annotation', () => {
    expect(review({ spec: { ingressClassName: 'silver' } })).toEqual({});
    const metadata = { name: 'x', annotations: { 'kubernetes.io/ingress.class': '' } };
    expect(review({ metadata, spec: {} })).toEqual({});
  });
});

describe('IngressClassParameters', () => {
  const review = (parameters: object, old?: object) =>
    ingressClassParametersRule().evaluate(
      requestFor({ parameters }, old && { parameters: old }),
    ) as AdmissionResult;

  it('are limited to 256 KiB of keys and values', () => {
    const value = 'ä'.repeat(128 * 1024 - 1);
    expect(review({ ab: value })).toEqual({});
    expect(review({ abc: value }).problems).toEqual([
      { path: 'parameters', message: expect.stringContaining('have 262145 bytes in total') },
    ]);
    expect(review({ abc: value }, { abc: value })).toEqual({});
  });
});

describe('an L7Router', () => {
  const review = (spec: object) => l7RouterRule(classes).evaluate(requestFor({ spec })) as AdmissionResult;

  it('is rejected with invalid hosts or addresses', () => {
    const { problems = [], warnings } = review({
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
    expect(warnings).toEqual(['spec: IngressClass "none" not found']);
  });
});
