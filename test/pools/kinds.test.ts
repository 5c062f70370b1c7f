import type { KubeClient } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  customResourceDefinitions,
  EDGE_APPLICATIONS,
  type EdgeApplication,
  NODE_GROUPS,
  NODE_POOLS,
  type NodeGroup,
  type NodePool,
  type NodePoolSpec,
} from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';

describe('validation of the kinds by the API server', () => {
  let server: EmbeddedWithKinds;
  let client: KubeClient;
  beforeAll(async () => {
    server = await startEmbeddedWithKinds();
    client = server.client;
  });
  afterAll(() => server.stop());

  const pool = (name: string, spec: NodePoolSpec, version = 'v1beta2'): NodePool => ({
    apiVersion: `apps.openyurt.io/${version}`,
    kind: 'NodePool',
    metadata: { name },
    spec,
  });
  const group = (name: string, spec: NodeGroup['spec']): NodeGroup => ({
    apiVersion: 'apps.kubeedge.io/v1alpha1',
    kind: 'NodeGroup',
    metadata: { name },
    spec,
  });
  const refusal = async (attempt: Promise<unknown>): Promise<string> =>
    attempt.then(
      () => expect.unreachable('the API server accepted the object'),
      (error: Error) => error.message,
    );

  it('establishes all CRDs', () => {
    expect(customResourceDefinitions().map((d) => d.metadata.name)).toEqual([
      'nodepools.apps.openyurt.io',
      'nodegroups.apps.kubeedge.io',
      'edgeapplications.apps.kubeedge.io',
      'ingressclassparameters.networking.tidegate.io',
      'ingressclasspolicies.networking.tidegate.io',
      'routepolicies.networking.tidegate.io',
      'clusterroutepolicies.networking.tidegate.io',
      'hostclaims.networking.tidegate.io',
      'l7routers.networking.tidegate.io',
      'routerprovisioners.networking.tidegate.io',
      'yurtingresses.apps.openyurt.io',
      'yurtappsets.apps.openyurt.io',
      'yurtappdaemons.apps.openyurt.io',
      'yurtappoverriders.apps.openyurt.io',
    ]);
  });

  it('keeps every field, at whichever version a pool is written and read', async () => {
    const selector = { matchLabels: { site: 'x' } };
    await client.create(
      { ...NODE_POOLS, version: 'v1alpha1' },
      pool('alpha', { type: 'Edge', selector, taints: [{ key: 'edge', effect: 'NoSchedule' }] }, 'v1alpha1'),
    );
    await client.create(NODE_POOLS, pool('beta', { hostNetwork: true, leaderReplicas: 2 }));
    for (const version of ['v1alpha1', 'v1beta1', 'v1beta2']) {
      const resource = { ...NODE_POOLS, version };
      const alpha = await client.get(resource, { name: 'alpha' });
      expect(alpha.apiVersion).toBe(`apps.openyurt.io/${version}`);
      expect(alpha.spec?.selector).toEqual(selector);
      const beta = await client.get(resource, { name: 'beta' });
      expect(beta.spec).toEqual({ type: 'Edge', hostNetwork: true, leaderReplicas: 2 });
      // Write the object back as it was read, at every version.
      await client.update(resource, { ...beta, metadata: { ...beta.metadata, labels: { seen: version } } });
    }
    expect((await client.get(NODE_POOLS, { name: 'beta' })).spec?.leaderReplicas).toBe(2);
  });

  it('defaults the type of a pool to Edge', async () => {
    const made = await client.create(NODE_POOLS, {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name: 'plain' },
    });
    expect(made).toMatchObject({ spec: { type: 'Edge' } });
  });

  it.each<[string, NodePoolSpec, RegExp]>([
    ['cloud-host', { type: 'Cloud', hostNetwork: true }, /remove hostNetwork, or set type to Edge/],
    ['mark', { leaderElectionStrategy: 'mark' }, /leaderNodeLabelSelector is required/],
    ['labels', { labels: { 'apps.openyurt.io/nodepool': 'x' } }, /set them on the node itself/],
    ['n'.repeat(64), {}, /use at most 63 characters/],
  ])('rejects a pool with %s', async (name, spec, message) => {
    expect(await refusal(client.create(NODE_POOLS, pool(name, spec)))).toMatch(message);
  });

  it('rejects changes of immutable fields', async () => {
    await client.create(NODE_POOLS, pool('fixed', { type: 'Edge' }));
    for (const [spec, message] of [
      [{ type: 'Cloud' }, /type is immutable/],
      [{ hostNetwork: true }, /hostNetwork is immutable/],
      [{ interConnectivity: true }, /interConnectivity is immutable/],
    ] as const) {
      expect(await refusal(client.patch(NODE_POOLS, { name: 'fixed' }, 'merge', { spec }))).toMatch(message);
    }
  });

  it('rejects a group that selects nodes by the label that it writes itself', async () => {
    const spec = { matchLabels: { 'apps.kubeedge.io/belonging-to': 'x' } };
    expect(await refusal(client.create(NODE_GROUPS, group('circle', spec)))).toMatch(
      /use another label, or list the nodes in spec\.nodes/,
    );
  });

  it('accepts the application of the KubeEdge proposal, and reports invalid fields of others', async () => {
    const registry = { component: 'registry', operator: 'replace', value: 'hangzhou.registry.io' } as const;
    const application = (name: string, overriders: object): EdgeApplication => ({
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'EdgeApplication',
      metadata: { name, namespace: 'default' },
      spec: {
        workloadTemplate: {
          manifests: [{ apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec: { x: 1 } }],
        },
        workloadScope: { targetNodeGroups: [{ name: 'hangzhou', overriders }] },
      },
    });
    const made = await client.create(
      EDGE_APPLICATIONS,
      application('good', { replicas: 0, imageOverriders: [registry] }),
    );
    expect(made.spec.workloadTemplate?.manifests?.[0]).toHaveProperty('spec.x', 1);
    expect(made.spec.workloadScope.targetNodeGroups?.[0]?.overriders?.replicas).toBe(0);
    const bad = application('bad', { imageOverriders: [{ component: 'Tag', operator: 'add' }] });
    expect(await refusal(client.create(EDGE_APPLICATIONS, bad))).toMatch(
      /targetNodeGroups\[0\]\.overriders\.imageOverriders\[0\].*value is required for the operators add and replace/,
    );
  });

  it('prints type, ready, not ready and age', async () => {
    const table = async (path: string): Promise<string[]> => {
      const answer = await client.raw({
        method: 'GET',
        path,
        headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      });
      const { columnDefinitions } = answer as { columnDefinitions: { name: string; priority: number }[] };
      return columnDefinitions.filter((column) => column.priority === 0).map((column) => column.name);
    };
    expect(await table('/apis/apps.openyurt.io/v1alpha1/nodepools')).toEqual([
      'Name',
      'Type',
      'Ready',
      'NotReady',
      'Age',
    ]);
    expect(await table('/apis/apps.kubeedge.io/v1alpha1/nodegroups')).toEqual([
      'Name',
      'Ready',
      'NotReady',
      'Age',
    ]);
    expect(await table('/apis/apps.kubeedge.io/v1alpha1/edgeapplications')).toEqual([
      'Name',
      'Ready',
      'Reason',
      'Age',
    ]);
  });
});
