import { type IngressClass, type KubeObject, Store, UnknownKindError } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { NODE_ADDRESSES_ANNOTATION } from '../../api/index.ts';
import { ClaimIndex } from '../../ingress/ownership/index.ts';
import { ProvisionerRegistry } from '../../ingress/provisioners/index.ts';
import { Membership } from '../../pools/index.ts';
import { type AdmissionRequest, type AdmissionResult, type Operation, reviewResponse } from '../review.ts';
import { ruleFor } from '../rule.ts';
import type { PermissionSources } from './author-permissions.ts';
import { admissionRules } from './index.ts';

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
let isAllowed = true;
const permissions: PermissionSources = {
  access: async () => isAllowed,
  discovery: {
    forKind: async (kind) => {
      if (kind.kind !== 'Deployment') throw new UnknownKindError(kind);
      const rest = { singular: 'deployment', shortNames: [], categories: [], verbs: [], subresources: [] };
      return { ...kind, ...rest, resource: 'deployments', namespaced: true };
    },
  },
};

const none = (): undefined => undefined;
const reachability = {
  nodes: { get: none },
  nodeNow: async () => undefined,
  leaseOf: async () => undefined,
  pools: { get: none },
  groups: { get: none },
  now: () => 0,
};

interface TestRequest {
  operation?: Operation;
  name?: string;
  metadata?: object;
  spec?: object;
  oldSpec?: object;
}

async function evaluate(resource: keyof typeof KINDS, asked: TestRequest): Promise<AdmissionResult> {
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
  const ingresses = {
    classes: ingressClasses,
    ingressesNaming: () => [],
    claims: new ClaimIndex(),
    policyOf: none,
    classesWith: (className: string) => [className],
    service: none,
    secret: none,
    provisioners: new ProvisionerRegistry(),
    parametersOf: () => undefined,
    routePoliciesOf: () => [],
    clusterRoutePolicies: () => [],
    knowsSecretsOf: () => true,
  };
  const yurtIngresses = { list: () => [] };
  const rules = admissionRules({
    registration: 'allow',
    membership,
    targetLabels: { keys: () => [] },
    permissions,
    ingresses,
    yurtIngresses,
    yurtApps: { pools: { list: () => [] }, overriders: { list: () => [] }, subject: () => undefined },
    reachability,
    now: () => 0,
  });
  const rule = ruleFor(rules, request);
  return (await rule?.evaluate(request)) ?? {};
}

const paths = ({ problems = [] }: AdmissionResult): string[] => problems.map(({ path }) => path);

describe('NodePool', () => {
  it('has addresses of nodes that can be read', async () => {
    const metadata = { annotations: { [NODE_ADDRESSES_ANNOTATION]: '192.0.2.0/24, node-a' } };
    const path = `metadata.annotations[${NODE_ADDRESSES_ANNOTATION}]`;
    for (const resource of ['nodepools', 'nodegroups'] as const)
      expect((await evaluate(resource, { spec: {}, metadata })).problems).toEqual([
        { path, message: '"node-a" is not an IP address or a range: write, for example, 192.0.2.0/24' },
      ]);
  });

  it('can be deleted only if it is empty', async () => {
    expect((await evaluate('nodepools', { operation: 'DELETE', name: 'paris' })).forbidden).toContain(
      'NodePool paris cannot be deleted: the pool still has nodes: n1, n2; ',
    );
    expect(await evaluate('nodepools', { operation: 'DELETE', name: 'rome' })).toEqual({});
  });

  it.each<[string, object, string[]]>([
    ['accepts a valid spec', { type: 'Edge', labels: { a: 'b' }, annotations: { a: 'b c' } }, []],
    ['rejects a label key', { labels: { 'a b': 'c' } }, ['spec.labels']],
    ['rejects a label value', { labels: { a: 'b c' } }, ['spec.labels']],
    ['rejects an annotation key', { annotations: { '/a': 'c' } }, ['spec.annotations']],
    ['rejects a taint', { taints: [{ key: 'a b', effect: 'NoSchedule' }] }, ['spec.taints[0]']],
    [
      'rejects a duplicate taint',
      {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoExecute' },
          { key: 'a', value: 'b', effect: 'NoSchedule' },
        ],
      },
      ['spec.taints[2]'],
    ],
    [
      'rejects a selector',
      { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      ['spec.selector'],
    ],
  ])('%s', async (_, spec, expected) => {
    expect(paths(await evaluate('nodepools', { spec }))).toEqual(expected);
  });

  it('warns about an empty selector', async () => {
    expect((await evaluate('nodepools', { spec: { selector: {} } })).warnings).toHaveLength(1);
    expect(
      (await evaluate('nodepools', { spec: { selector: { matchLabels: { a: 'b' } } } })).warnings,
    ).toEqual([]);
  });
});

describe('NodeGroup', () => {
  it('is rejected with invalid labels', async () => {
    expect(paths(await evaluate('nodegroups', { spec: { matchLabels: { 'a b': 'c' } } }))).toEqual([
      'spec.matchLabels',
    ]);
  });

  it('gets a warning if it selects nothing, or nodes that do not exist', async () => {
    expect((await evaluate('nodegroups', { spec: {} })).warnings).toEqual([
      'spec: the group selects no nodes; set spec.nodes or spec.matchLabels',
    ]);
    expect((await evaluate('nodegroups', { spec: { nodes: ['n1', 'n9'] } })).warnings).toEqual([
      'spec.nodes[1]: node "n9" not found',
    ]);
  });

  it('can be deleted while it has nodes, and releases them', async () => {
    expect(await evaluate('nodegroups', { operation: 'DELETE', name: 'any' })).toEqual({});
  });
});

describe('EdgeApplication', () => {
  const target = (name: string): object => ({ workloadScope: { targetNodeGroups: [{ name }] } });

  it('may name pools that do not exist, with a warning', async () => {
    expect(await evaluate('edgeapplications', { spec: target('paris') })).toEqual({ warnings: [] });
    expect((await evaluate('edgeapplications', { spec: target('rome') })).warnings).toEqual([
      'spec.workloadScope.targetNodeGroups[0].name: NodeGroup or NodePool "rome" not found; nothing is deployed there until it exists',
    ]);
  });

  it('is rejected with the path of every invalid field', async () => {
    const labelSelector = { matchLabels: { a: 'b' } };
    const spec = {
      workloadTemplate: { manifests: [{ kind: 'Pod' }] },
      workloadScope: { targetNodeLabels: [{ labelSelector }, { labelSelector }] },
    };
    expect(paths(await evaluate('edgeapplications', { spec }))).toEqual([
      'spec.workloadScope.targetNodeLabels[1]',
      'spec.workloadTemplate.manifests[0].apiVersion',
    ]);
  });

  it('is rendered only if its author has the permissions', async () => {
    const manifest = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' } };
    const spec = {
      workloadTemplate: { manifests: [manifest] },
      workloadScope: { targetNodeGroups: [{ name: 'paris', overriders: { argsOverriders: [{}] } }] },
    };
    const path = 'spec.workloadScope.targetNodeGroups[0].overriders.argsOverriders[0]';
    expect(paths(await evaluate('edgeapplications', { spec }))).toEqual([path]);
    isAllowed = false;
    try {
      const result = await evaluate('edgeapplications', { spec });
      expect(result.problems).toBeUndefined();
      expect(result.forbidden).toMatch('cannot create or patch or delete deployments.apps');
    } finally {
      isAllowed = true;
    }
  });

  it('gets a warning if it selects nodes by a label that every node sets itself', async () => {
    const select = (key: string) =>
      evaluate('edgeapplications', {
        spec: { workloadScope: { targetNodeLabels: [{ labelSelector: { matchLabels: { [key]: 'x' } } }] } },
      });
    expect((await select('gpu')).warnings).toEqual([]);
    expect((await select('kubernetes.io/hostname')).warnings).toEqual([
      expect.stringContaining('every node sets its own label kubernetes.io/hostname'),
    ]);
  });

  it('may use generateName', async () => {
    const asked = { name: '', metadata: { name: undefined, generateName: 'app-' }, spec: target('paris') };
    expect((await evaluate('edgeapplications', asked)).problems).toBeUndefined();
  });
});

describe('requests that are not checked', () => {
  const bad = { labels: { 'a b': 'c' }, matchLabels: { 'a b': 'c' } };

  it('an unchanged spec that was accepted before', async () => {
    expect(await evaluate('nodepools', { spec: bad, oldSpec: { ...bad } })).toEqual({});
    expect(paths(await evaluate('nodepools', { spec: bad, oldSpec: {} }))).toEqual(['spec.labels']);
  });

  it('an object that is being deleted, as long as its spec stays the same', async () => {
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(await evaluate('nodegroups', { spec: bad, oldSpec: { ...bad }, metadata })).toEqual({});
    expect(paths(await evaluate('nodegroups', { spec: bad, oldSpec: {}, metadata }))).toEqual([
      'spec.matchLabels',
    ]);
  });
});

it('a rejection has the format of the API server', () => {
  const request = {
    uid: 'u',
    kind: KINDS.nodepools,
    resource: { group: 'apps.openyurt.io', version: 'v1beta2', resource: 'nodepools' },
    name: 'paris',
    operation: 'CREATE',
    userInfo,
  } as const;
  const review = (result: AdmissionResult): unknown => reviewResponse('admission.k8s.io/v1', request, result);
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
