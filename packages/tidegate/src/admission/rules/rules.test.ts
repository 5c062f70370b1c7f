import { type IngressClass, type KubeObject, Store, UnknownKindError } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { Membership } from '../../pools/index.ts';
import { type AdmissionRequest, answer, type Operation, type Verdict } from '../review.ts';
import { ruleFor } from '../rule.ts';
import { admissionRules } from './index.ts';
import type { Rights } from './rights-of-writer.ts';

const KINDS = {
  nodepools: { group: 'apps.openyurt.io', version: 'v1beta2', kind: 'NodePool' },
  nodegroups: { group: 'apps.kubeedge.io', version: 'v1alpha1', kind: 'NodeGroup' },
  edgeapplications: { group: 'apps.kubeedge.io', version: 'v1alpha1', kind: 'EdgeApplication' },
};

const ingressClasses = new Store<IngressClass>(() => {});

const membership = new Membership();
membership.apply({
  type: 'NodePool',
  name: 'paris',
  object: { apiVersion: 'apps.openyurt.io/v1beta2', kind: 'NodePool', metadata: { name: 'paris' } },
});
const labels = { 'apps.openyurt.io/nodepool': 'paris' };
for (const name of ['n1', 'n2'])
  membership.apply({
    type: 'Node',
    name,
    object: { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } },
  });

const userInfo = { username: 'ann' };
const rights: Rights = {
  access: async () => true,
  discovery: { forKind: (kind) => Promise.reject(new UnknownKindError(kind)) },
};

const none = (): undefined => undefined;
const reach = { nodes: { get: none }, nodeNow: async () => undefined, leaseOf: async () => undefined };

interface Asked {
  operation?: Operation;
  name?: string;
  metadata?: object;
  spec?: object;
  oldSpec?: object;
}

async function judge(resource: keyof typeof KINDS, asked: Asked): Promise<Verdict> {
  const { group, version, kind } = KINDS[resource];
  const { operation = asked.oldSpec === undefined ? 'CREATE' : 'UPDATE', name = 'x' } = asked;
  const object = (spec: object | undefined): KubeObject => ({
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name, ...asked.metadata },
    spec,
  });
  const request: AdmissionRequest = {
    uid: 'u',
    kind: KINDS[resource],
    resource: { group, version, resource },
    name,
    operation,
    userInfo,
    object: operation === 'DELETE' ? null : object(asked.spec),
    oldObject: operation === 'CREATE' ? null : object(asked.oldSpec),
  };
  const ingresses = { classes: ingressClasses, ingressesNaming: () => [], service: none, secret: none };
  const yurtIngresses = { list: () => [] };
  const rules = admissionRules({ membership, rights, ingresses, yurtIngresses, reach, now: () => 0 });
  const rule = ruleFor(rules, request);
  return (await rule?.judge(request)) ?? {};
}

const paths = ({ problems = [] }: Verdict): string[] => problems.map(({ path }) => path);

describe('NodePool', () => {
  it('can be deleted only when it is empty', async () => {
    expect((await judge('nodepools', { operation: 'DELETE', name: 'paris' })).forbidden).toContain(
      'NodePool paris can not be deleted: the pool still has nodes: n1, n2; ',
    );
    expect(await judge('nodepools', { operation: 'DELETE', name: 'rome' })).toEqual({});
  });

  it.each<[string, object, string[]]>([
    ['nothing wrong', { type: 'Edge', labels: { a: 'b' }, annotations: { a: 'b c' } }, []],
    ['a label key', { labels: { 'a b': 'c' } }, ['spec.labels']],
    ['a label value', { labels: { a: 'b c' } }, ['spec.labels']],
    ['an annotation key', { annotations: { '/a': 'c' } }, ['spec.annotations']],
    ['a taint', { taints: [{ key: 'a b', effect: 'NoSchedule' }] }, ['spec.taints[0]']],
    [
      'a taint twice',
      {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoExecute' },
          { key: 'a', value: 'b', effect: 'NoSchedule' },
        ],
      },
      ['spec.taints[2]'],
    ],
    ['a selector', { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }, ['spec.selector']],
  ])('%s', async (_, spec, expected) => {
    expect(paths(await judge('nodepools', { spec }))).toEqual(expected);
  });

  it('warns of a selector that chooses nothing', async () => {
    expect((await judge('nodepools', { spec: { selector: {} } })).warnings).toHaveLength(1);
    expect((await judge('nodepools', { spec: { selector: { matchLabels: { a: 'b' } } } })).warnings).toEqual(
      [],
    );
  });
});

describe('NodeGroup', () => {
  it('is told what is wrong with its labels', async () => {
    expect(paths(await judge('nodegroups', { spec: { matchLabels: { 'a b': 'c' } } }))).toEqual([
      'spec.matchLabels',
    ]);
  });

  it('is warned when it chooses nothing, or nodes that are not there', async () => {
    expect((await judge('nodegroups', { spec: {} })).warnings).toEqual([
      'spec: the group chooses no node; name some in nodes, or choose them by matchLabels',
    ]);
    expect((await judge('nodegroups', { spec: { nodes: ['n1', 'n9'] } })).warnings).toEqual([
      'spec.nodes[1]: no node is called "n9" yet',
    ]);
  });

  it('can be deleted whatever is in it: it lets its nodes go', async () => {
    expect(await judge('nodegroups', { operation: 'DELETE', name: 'any' })).toEqual({});
  });
});

describe('EdgeApplication', () => {
  const target = (name: string): object => ({ workloadScope: { targetNodeGroups: [{ name }] } });

  it('may name pools that are not there yet, with a warning', async () => {
    expect(await judge('edgeapplications', { spec: target('paris') })).toEqual({ warnings: [] });
    expect((await judge('edgeapplications', { spec: target('rome') })).warnings).toEqual([
      'spec.workloadScope.targetNodeGroups[0].name: there is no NodeGroup or NodePool "rome" yet',
    ]);
  });

  it('is told the path of every mistake', async () => {
    const labelSelector = { matchLabels: { a: 'b' } };
    const spec = {
      workloadTemplate: { manifests: [{ kind: 'Pod' }] },
      workloadScope: { targetNodeLabels: [{ labelSelector }, { labelSelector }] },
    };
    expect(paths(await judge('edgeapplications', { spec }))).toEqual([
      'spec.workloadScope.targetNodeLabels[1]',
      'spec.workloadTemplate.manifests[0].apiVersion',
    ]);
  });

  it('may leave its name to the server', async () => {
    const asked = { name: '', metadata: { name: undefined, generateName: 'app-' }, spec: target('paris') };
    expect((await judge('edgeapplications', asked)).problems).toBeUndefined();
  });
});

describe('what is not judged', () => {
  const bad = { labels: { 'a b': 'c' }, matchLabels: { 'a b': 'c' } };

  it('what was accepted before and stays as it is', async () => {
    expect(await judge('nodepools', { spec: bad, oldSpec: { ...bad } })).toEqual({});
    expect(paths(await judge('nodepools', { spec: bad, oldSpec: {} }))).toEqual(['spec.labels']);
  });

  it('what is on its way out', async () => {
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(await judge('nodegroups', { spec: bad, oldSpec: {}, metadata })).toEqual({});
  });
});

it('a verdict is worded as the API server words its own', () => {
  const request = {
    uid: 'u',
    kind: KINDS.nodepools,
    resource: { group: 'apps.openyurt.io', version: 'v1beta2', resource: 'nodepools' },
    name: 'paris',
    operation: 'CREATE',
    userInfo,
  } as const;
  const review = (verdict: Verdict): unknown => answer('admission.k8s.io/v1', request, verdict);
  expect(review({ warnings: [] })).toEqual({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid: 'u', allowed: true },
  });
  expect(review({ problems: [{ path: 'spec.a', message: 'no' }], warnings: ['w'] })).toMatchObject({
    response: {
      allowed: false,
      warnings: ['w'],
      status: { code: 422, message: 'NodePool.apps.openyurt.io "paris" is invalid: spec.a: no' },
    },
  });
  expect(review({ forbidden: 'not now' })).toMatchObject({
    response: { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'not now' } },
  });
});
