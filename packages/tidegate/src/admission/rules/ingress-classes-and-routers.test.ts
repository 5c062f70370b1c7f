import { type IngressClass, type KubeObject, Store } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { IngressClassParameters } from '../../api/index.ts';
import { ProvisionerRegistry } from '../../ingress/provisioners/index.ts';
import { type AdmissionRequest, type AdmissionResult, reviewResponse } from '../review.ts';
import { defaultIngressClassRule } from './default-ingress-class.ts';
import { ingressClassParametersRule, ingressClassRule } from './ingress-class-parameters.ts';
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
  const provisioners = new ProvisionerRegistry();
  const own = (parameters: object) => ({ metadata: { name: 'x' }, parameters }) as IngressClassParameters;
  const user = (controller: string): IngressClass => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'user' },
    spec: {
      controller,
      parameters: { apiGroup: 'networking.tidegate.io', kind: 'IngressClassParameters', name: 'x' },
    },
  });
  const sources = (classes: IngressClass[], parameters?: object) => ({
    classes: { list: () => classes },
    provisioners,
    parametersOf: () => parameters && own(parameters),
  });
  const review = (parameters: object, old?: object, classes: IngressClass[] = []) =>
    ingressClassParametersRule(sources(classes)).evaluate({
      ...requestFor({ parameters }, old && { parameters: old }),
      namespace: 'tidegate-system',
      name: 'x',
    }) as AdmissionResult;

  it('are checked for the provisioner of each class that refers to them, and errors name the key', () => {
    const problems = [
      {
        path: 'parameters[maxHosts]',
        message: '"many" is invalid: write a number from 1 to 20000 (IngressClass user)',
      },
    ];
    expect(review({ maxHosts: 'many' }, undefined, [user('tidegate.io/nginx')])).toEqual({ problems });
    expect(review({ maxHosts: 'many' }, undefined, [user('kubernetes.io/gce')])).toEqual({ problems });
    expect(review({ maxHosts: 'many' }, undefined, [user('k8s.io/ingress-nginx')])).toEqual({ problems: [] });
  });

  it('are checked when a class refers to them', () => {
    const rule = ingressClassRule(sources([], { replicas: '-1' }));
    expect(rule.evaluate(requestFor(user('tidegate.io/nginx')))).toEqual({
      problems: [
        {
          path: 'spec.parameters',
          message:
            'IngressClassParameters tidegate-system/x: replicas: "-1" is invalid: write a number from 0 to 1000',
        },
      ],
    });
  });

  it('are limited to 256 KiB of keys and values', () => {
    const value = 'ä'.repeat(128 * 1024 - 1);
    expect(review({ ab: value })).toEqual({ problems: [] });
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
