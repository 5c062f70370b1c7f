/** The application kinds of OpenYurt, with the controllers that a manager runs. */
import {
  CONTROLLER_REVISIONS,
  DEPLOYMENTS,
  type Deployment,
  getCondition,
  type KubeClient,
  STATEFUL_SETS,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EDGE_APPLICATIONS,
  NODE_POOLS,
  YURT_APP_DAEMONS,
  YURT_APP_OVERRIDERS,
  YURT_APP_SETS,
  type YurtAppSetSpec,
} from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { observe, runApplications } from './support.ts';

const namespace = 'default';
const GROUP = 'apps.openyurt.io';

const template = (app: string, image = 'web:1') => ({
  metadata: { labels: { app } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app } },
    template: { metadata: { labels: { app } }, spec: { containers: [{ name: 'web', image }] } },
  },
});
const yurtAppSet = (name: string, spec: YurtAppSetSpec, version = 'v1beta1') => ({
  apiVersion: `${GROUP}/${version}`,
  kind: 'YurtAppSet',
  metadata: { name, namespace },
  spec,
});

let server: EmbeddedWithKinds;
let client: KubeClient;
let end: () => Promise<void>;
beforeAll(async () => {
  server = await startEmbeddedWithKinds();
  client = server.client;
  end = runApplications(client);
});
afterAll(async () => {
  await end();
  await server.stop();
});

const makePool = (name: string, labels: Record<string, string> = {}) =>
  client.create(NODE_POOLS, {
    apiVersion: `${GROUP}/v1beta2`,
    kind: 'NodePool',
    metadata: { name, labels },
    spec: { type: 'Edge' },
  });
const imageIn = ({ spec }: Deployment): string | undefined => spec?.template.spec?.containers[0]?.image;
/** As the controller of Deployments writes it when all pods are ready. */
const becomeReady = async (name: string): Promise<void> => {
  const { appears } = observe(client);
  const { metadata, spec } = await appears(DEPLOYMENTS, name);
  const count = spec?.replicas ?? 1;
  await client.patch(DEPLOYMENTS, { name, namespace, subresource: 'status' }, 'merge', {
    status: {
      observedGeneration: metadata.generation,
      replicas: count,
      updatedReplicas: count,
      readyReplicas: count,
      availableReplicas: count,
    },
  });
};

describe('a YurtAppSet', () => {
  it('deploys to named and selected pools with their tweaks, and reports what is ready', async () => {
    const { appears, isGone } = observe(client);
    await Promise.all([makePool('east', { tier: 'a' }), makePool('west'), makePool('north')]);
    await client.create(
      YURT_APP_SETS,
      yurtAppSet('example', {
        pools: ['west'],
        nodepoolSelector: { matchLabels: { tier: 'a' } },
        workload: {
          workloadTemplate: { deploymentTemplate: template('example') },
          workloadTweaks: [
            {
              pools: ['west'],
              tweaks: { replicas: 3, containerImages: [{ name: 'web', targetImage: 'web:2' }] },
            },
          ],
        },
      }),
    );
    expect(imageIn(await appears(DEPLOYMENTS, 'example-east'))).toBe('web:1');
    const west = await appears(DEPLOYMENTS, 'example-west');
    expect([imageIn(west), west.spec?.replicas]).toEqual(['web:2', 3]);
    expect(west.spec?.template.spec?.nodeSelector).toEqual({ 'apps.openyurt.io/nodepool': 'west' });
    await becomeReady('example-east');
    const half = await appears(YURT_APP_SETS, 'example', ({ status }) => status?.readyWorkloads === 1);
    expect(getCondition(half.status?.conditions, 'AppReady')).toMatchObject({ status: 'False' });
    await becomeReady('example-west');
    const { status } = await appears(YURT_APP_SETS, 'example', (found) => found.status?.readyWorkloads === 2);
    expect(status).toMatchObject({ totalWorkloads: 2, updatedWorkloads: 2, templateType: 'Deployment' });
    expect(status?.conditions?.map(({ type, status: is }) => `${type} ${is}`)).toEqual([
      'PoolFound True',
      'AppDispatched True',
      'AppDeleted True',
      'AppUpdated True',
      'AppReady True',
    ]);
    // A pool that gets the label is selected, and one that loses it is not.
    await client.patch(NODE_POOLS, { name: 'north' }, 'merge', { metadata: { labels: { tier: 'a' } } });
    await appears(DEPLOYMENTS, 'example-north');
    await client.patch(NODE_POOLS, { name: 'east' }, 'merge', { metadata: { labels: { tier: null } } });
    await isGone(DEPLOYMENTS, 'example-east');
    await client.delete(YURT_APP_SETS, { name: 'example', namespace });
  });

  it('keeps what runs after a mistake, and names the field', async () => {
    const { appears } = observe(client);
    await makePool('careful');
    const spec = (image: string, container: string): YurtAppSetSpec => ({
      pools: ['careful'],
      workload: {
        workloadTemplate: { deploymentTemplate: template('mistaken', image) },
        workloadTweaks: [
          {
            pools: ['careful'],
            tweaks: { containerImages: [{ name: container, targetImage: 'web:9' }] },
          },
        ],
      },
    });
    await client.create(YURT_APP_SETS, yurtAppSet('mistaken', spec('web:1', 'web')));
    await appears(DEPLOYMENTS, 'mistaken-careful');
    await client.patch(YURT_APP_SETS, { name: 'mistaken', namespace }, 'merge', {
      spec: spec('web:2', 'wbe'),
    });
    const { status } = await appears(
      YURT_APP_SETS,
      'mistaken',
      (found) => getCondition(found.status?.conditions, 'AppUpdated')?.reason === 'InvalidSpec',
    );
    expect(getCondition(status?.conditions, 'AppUpdated')?.message).toContain(
      'spec.workload.workloadTweaks[0].tweaks.containerImages[0].name: the template has no container "wbe": correct the name',
    );
    expect(status?.updatedWorkloads).toBe(0);
    expect(imageIn(await appears(DEPLOYMENTS, 'mistaken-careful'))).toBe('web:9');
  });

  it('of v1alpha1 has pools with terms, tolerations and strategic merge patches', async () => {
    const { appears } = observe(client);
    await Promise.all([makePool('alpha-a'), makePool('alpha-b')]);
    const { spec } = template('old');
    const { selector, ...withoutSelector } = spec;
    const inPool = (name: string) => ({
      matchExpressions: [{ key: 'apps.openyurt.io/nodepool', operator: 'In', values: [name] }],
    });
    await client.create(
      { ...YURT_APP_SETS, version: 'v1alpha1' },
      yurtAppSet(
        'old',
        {
          selector,
          workloadTemplate: { statefulSetTemplate: { spec: { ...withoutSelector, serviceName: 'old' } } },
          topology: {
            pools: [
              { name: 'alpha-a', nodeSelectorTerm: inPool('alpha-a'), replicas: 1 },
              {
                name: 'alpha-b',
                nodeSelectorTerm: inPool('alpha-b'),
                replicas: 5,
                tolerations: [{ key: 'k', operator: 'Exists' }],
                patch: { spec: { template: { spec: { containers: [{ name: 'web', image: 'web:7' }] } } } },
              },
            ],
          },
        },
        'v1alpha1',
      ),
    );
    await appears(STATEFUL_SETS, 'old-alpha-a', ({ spec }) => spec?.replicas === 1);
    const b = await appears(STATEFUL_SETS, 'old-alpha-b', ({ spec }) => spec?.replicas === 5);
    expect(b.spec?.template.spec?.containers[0]?.image).toBe('web:7');
    expect(b.spec?.template.spec?.tolerations).toEqual([{ key: 'k', operator: 'Exists' }]);
    const { spec: stored, status } = await appears(
      { ...YURT_APP_SETS, version: 'v1alpha1' },
      'old',
      (found) => found.status?.workloadSummary?.length === 2,
    );
    // Nothing is lost when the object is stored in the other version.
    expect(stored?.topology?.pools?.[1]?.patch).toBeDefined();
    expect(status?.poolReplicas).toEqual({ 'alpha-a': 0, 'alpha-b': 0 });
  });

  it('has a revision for each content of its workload, and an old content is current again', async () => {
    const { appears } = observe(client);
    await makePool('history');
    const spec = (image: string): YurtAppSetSpec => ({
      pools: ['history'],
      revisionHistoryLimit: 1,
      workload: { workloadTemplate: { deploymentTemplate: template('revised', image) } },
    });
    const change = async (image: string): Promise<string> => {
      await client.patch(YURT_APP_SETS, { name: 'revised', namespace }, 'merge', { spec: spec(image) });
      await appears(DEPLOYMENTS, 'revised-history', (found) => imageIn(found) === image);
      const { status } = await appears(
        YURT_APP_SETS,
        'revised',
        (found) =>
          found.status?.currentRevision !== undefined &&
          found.status.observedGeneration === found.metadata.generation,
      );
      return `${status?.currentRevision}`;
    };
    const revisions = async () =>
      (
        await client.list(CONTROLLER_REVISIONS, {
          namespace,
          labelSelector: 'apps.openyurt.io/ref-yurtappset=revised',
        })
      ).items
        .toSorted((a, b) => a.revision - b.revision)
        .map(({ metadata, revision }) => [metadata.name, revision]);
    await client.create(YURT_APP_SETS, yurtAppSet('revised', spec('web:1')));
    const first = await change('web:1');
    const second = await change('web:2');
    expect(second).not.toBe(first);
    expect(await revisions()).toEqual([
      [first, 1],
      [second, 2],
    ]);
    expect(await change('web:1')).toBe(first);
    expect(await revisions()).toEqual([
      [second, 2],
      [first, 3],
    ]);
    const third = await change('web:3');
    expect(await revisions()).toEqual([
      [first, 3],
      [third, 4],
    ]);
  });

  it('takes over the Deployments of OpenYurt without a new revision of their pods', async () => {
    const { appears, isGone } = observe(client);
    await Promise.all([makePool('taken'), makePool('new')]);
    // The controllers see the YurtAppSet only after OpenYurt has created its Deployment.
    await end();
    const { metadata } = await client.create(
      YURT_APP_SETS,
      yurtAppSet('live', {
        pools: ['taken', 'new'],
        workload: { workloadTemplate: { deploymentTemplate: template('live') } },
      }),
    );
    const { uid = '' } = metadata as { uid?: string };
    const labels = { app: 'live', 'apps.openyurt.io/pool-name': 'taken' };
    const { spec } = template('live');
    const before = (await client.create(
      DEPLOYMENTS,
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: {
          name: 'live-taken-pvpv6',
          namespace,
          labels,
          ownerReferences: [
            { apiVersion: `${GROUP}/v1beta1`, kind: 'YurtAppSet', name: 'live', uid, controller: true },
          ],
        },
        spec: {
          ...spec,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels: { ...labels, 'apps.openyurt.io/controller-revision-hash': 'live-1' } },
            spec: { ...spec.template.spec, nodeSelector: { 'apps.openyurt.io/nodepool': 'taken' } },
          },
        },
      },
      { fieldManager: 'yurt-manager' },
    )) as Deployment;
    end = runApplications(client);
    const after = await appears(
      DEPLOYMENTS,
      'live-taken-pvpv6',
      (found) => found.metadata.labels?.['apps.tidegate.io/edition'] === 'taken',
    );
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.spec?.template).toEqual(before.spec?.template);
    await appears(DEPLOYMENTS, 'live-new');
    const { items } = await client.list(DEPLOYMENTS, { namespace, labelSelector: 'app=live' });
    expect(items.map(({ metadata: { name } }) => name).toSorted()).toEqual(['live-new', 'live-taken-pvpv6']);
    // The pool is removed: OpenYurt created the Deployment for this YurtAppSet, so it is deleted.
    await client.patch(YURT_APP_SETS, { name: 'live', namespace }, 'merge', { spec: { pools: ['new'] } });
    await isGone(DEPLOYMENTS, 'live-taken-pvpv6');
  });
});

describe('a YurtAppDaemon', () => {
  it('deploys to selected pools, tolerates their taints, and follows a YurtAppOverrider', async () => {
    const { appears } = observe(client);
    await makePool('shop-1', { kind: 'shop' });
    await client.patch(NODE_POOLS, { name: 'shop-1' }, 'merge', {
      spec: { taints: [{ key: 'quiet', effect: 'NoSchedule' }] },
    });
    await client.create(YURT_APP_DAEMONS, {
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'YurtAppDaemon',
      metadata: { name: 'agent', namespace },
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        nodepoolSelector: { matchLabels: { kind: 'shop' } },
        workloadTemplate: { deploymentTemplate: template('agent') },
      },
    });
    const { spec } = await appears(
      DEPLOYMENTS,
      'agent-shop-1',
      ({ spec }) => spec?.template.spec?.tolerations !== undefined,
    );
    expect(spec?.template.spec?.tolerations).toEqual([
      { key: 'quiet', operator: 'Exists', effect: 'NoSchedule' },
    ]);
    await client.create(YURT_APP_OVERRIDERS, {
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'YurtAppOverrider',
      metadata: { name: 'ours', namespace },
      subject: { apiVersion: `${GROUP}/v1alpha1`, kind: 'YurtAppDaemon', name: 'agent' },
      entries: [
        { pools: ['*', '-shop-2'], items: [{ replicas: 4 }] },
        {
          pools: ['shop-1'],
          patches: [
            {
              operation: 'add',
              path: '/spec/template/spec/containers/0/args',
              value: ['--site={{nodepool}}'],
            },
          ],
        },
      ],
    });
    const changed = await appears(DEPLOYMENTS, 'agent-shop-1', (found) => found.spec?.replicas === 4);
    expect(changed.spec?.template.spec?.containers[0]?.args).toEqual(['--site=shop-1']);
    await makePool('shop-2', { kind: 'shop' });
    expect((await appears(DEPLOYMENTS, 'agent-shop-2')).spec?.replicas).toBe(2);
    await appears(YURT_APP_DAEMONS, 'agent', ({ status }) => status?.overriderRef === 'ours');
    const { status } = await appears(
      YURT_APP_DAEMONS,
      'agent',
      (found) => found.status?.nodepools?.length === 2,
    );
    expect(status?.nodepools).toEqual(['shop-1', 'shop-2']);
    await client.delete(YURT_APP_OVERRIDERS, { name: 'ours', namespace });
    await appears(DEPLOYMENTS, 'agent-shop-1', (found) => found.spec?.replicas === 2);
  });

  it('does not follow a YurtAppOverrider that is being deleted', async () => {
    const { appears } = observe(client);
    await makePool('quay', { kind: 'quay' });
    await client.create(YURT_APP_DAEMONS, {
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'YurtAppDaemon',
      metadata: { name: 'crane', namespace },
      spec: {
        nodepoolSelector: { matchLabels: { kind: 'quay' } },
        workloadTemplate: { deploymentTemplate: template('crane') },
      },
    });
    const entries = (replicas: number) => [{ pools: ['*'], items: [{ replicas }] }];
    await client.create(YURT_APP_OVERRIDERS, {
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'YurtAppOverrider',
      metadata: { name: 'leaving', namespace, finalizers: ['example.com/hold'] },
      subject: { apiVersion: `${GROUP}/v1alpha1`, kind: 'YurtAppDaemon', name: 'crane' },
      entries: entries(4),
    });
    await appears(DEPLOYMENTS, 'crane-quay', (found) => found.spec?.replicas === 4);
    await client.delete(YURT_APP_OVERRIDERS, { name: 'leaving', namespace });
    await client.patch(YURT_APP_OVERRIDERS, { name: 'leaving', namespace }, 'merge', { entries: entries(9) });
    await appears(DEPLOYMENTS, 'crane-quay', (found) => found.spec?.replicas === 2);
    await appears(YURT_APP_DAEMONS, 'crane', ({ status }) => status?.overriderRef === undefined);
    // Another one replaces it before it is gone.
    await client.create(YURT_APP_OVERRIDERS, {
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'YurtAppOverrider',
      metadata: { name: 'next', namespace },
      subject: { apiVersion: `${GROUP}/v1alpha1`, kind: 'YurtAppDaemon', name: 'crane' },
      entries: entries(3),
    });
    await appears(DEPLOYMENTS, 'crane-quay', (found) => found.spec?.replicas === 3);
  });

  it('does not change an EdgeApplication of another owner', async () => {
    const { appears } = observe(client);
    await client.create(EDGE_APPLICATIONS, {
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'EdgeApplication',
      metadata: { name: 'mine.yurtappdaemon', namespace },
      spec: { workloadScope: {} },
    });
    await client.create(YURT_APP_DAEMONS, {
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'YurtAppDaemon',
      metadata: { name: 'mine', namespace },
      spec: { nodepoolSelector: {}, workloadTemplate: { deploymentTemplate: template('mine') } },
    });
    const { status } = await appears(
      YURT_APP_DAEMONS,
      'mine',
      (found) => getCondition(found.status?.conditions, 'WorkLoadFailure')?.reason === 'NameTaken',
    );
    expect(getCondition(status?.conditions, 'WorkLoadFailure')?.message).toContain(
      'belongs to another owner',
    );
  });
});
