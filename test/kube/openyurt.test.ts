/** The application kinds of OpenYurt on a real API server, with the permissions of deploy/base only. */
import { type Deployment, getCondition, type KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { YurtAppDaemon, YurtAppSet } from '../../packages/tidegate/src/api/index.ts';
import { eventually } from '../support/cluster.ts';
import { ApplicationsWorld } from './support/applications.ts';

const GROUP = 'apps.openyurt.io';
const pool = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: `${GROUP}/v1beta2`,
  kind: 'NodePool',
  metadata: { name, labels },
  spec: { type: 'Edge' },
});
const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app } },
    template: { metadata: { labels: { app } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
});

describe('the application kinds of OpenYurt on a real API server', () => {
  let world: ApplicationsWorld;
  beforeAll(async () => {
    world = await ApplicationsWorld.create();
    await world.start();
    await world.cloud.kubectl.apply(pool('east', { tier: 'shop' }), pool('west'));
  });
  afterAll(async () => {
    await world?.remove();
  });
  const apply = (...objects: object[]): Promise<unknown> =>
    world.cloud.kubectl.apply(...(objects as KubeObject[]));
  const appears = <T>(
    what: string,
    namespace: string,
    fits: (found: T) => boolean = () => true,
  ): Promise<T> =>
    eventually(what, async () => {
      const found = await world.get<T>(what, namespace);
      if (!fits(found)) throw new Error(JSON.stringify(found));
      return found;
    }) as Promise<T>;

  it('take over the Deployments of OpenYurt without a new revision of their pods', async () => {
    await world.grant('live');
    await apply({
      apiVersion: `${GROUP}/v1beta1`,
      kind: 'YurtAppSet',
      metadata: { name: 'web', namespace: 'live' },
      spec: {
        pools: ['east', 'west'],
        workload: { workloadTemplate: { deploymentTemplate: template('web') } },
      },
    });
    const { metadata } = await world.get<KubeObject>('yurtappset web', 'live');
    const labels = { app: 'web', 'apps.openyurt.io/pool-name': 'east' };
    const { spec } = template('web');
    await apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {
        name: 'web-east-pvpv6',
        namespace: 'live',
        labels,
        ownerReferences: [
          {
            apiVersion: `${GROUP}/v1beta1`,
            kind: 'YurtAppSet',
            name: 'web',
            uid: metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        ...spec,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels: { ...labels, 'apps.openyurt.io/controller-revision-hash': 'web-1' } },
          spec: { ...spec.template.spec, nodeSelector: { 'apps.openyurt.io/nodepool': 'east' } },
        },
      },
    });
    const before = await appears<Deployment>(
      'deployment web-east-pvpv6',
      'live',
      ({ metadata: { annotations = {} } }) => annotations['deployment.kubernetes.io/revision'] === '1',
    );
    await world.startManager();
    await appears('deployment web-west', 'live');
    const after = await appears<Deployment>(
      'deployment web-east-pvpv6',
      'live',
      (found) => found.metadata.labels?.['apps.tidegate.io/edition'] === 'east',
    );
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.spec?.template).toEqual(before.spec?.template);
    expect(after.metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('1');
    const set = await appears<YurtAppSet>(
      'yurtappset web',
      'live',
      ({ status }) => status?.totalWorkloads === 2 && status.updatedWorkloads === 2,
    );
    expect(getCondition(set.status?.conditions, 'AppReady')?.status).toBe('False');
    expect(await world.get('controllerrevision', 'live')).toMatchObject({
      items: [{ metadata: { name: set.status?.currentRevision } }],
    });
    await world.cloud.kubectl.run('delete yurtappset web -n live');
    for (const name of ['web-east-pvpv6', 'web-west']) await world.isGone(`deployment ${name} -n live`);
  });

  it('deploy in both versions, with tweaks, patches and a YurtAppOverrider', async () => {
    await world.grant('both');
    const { selector, ...withoutSelector } = template('old').spec;
    const term = { matchExpressions: [{ key: `${GROUP}/nodepool`, operator: 'In', values: ['west'] }] };
    await apply(
      {
        apiVersion: `${GROUP}/v1alpha1`,
        kind: 'YurtAppSet',
        metadata: { name: 'old', namespace: 'both' },
        spec: {
          selector,
          workloadTemplate: { deploymentTemplate: { spec: withoutSelector } },
          topology: {
            pools: [
              {
                name: 'west',
                nodeSelectorTerm: term,
                replicas: 1,
                patch: { spec: { template: { spec: { containers: [{ name: 'web', image: 'web:2' }] } } } },
              },
            ],
          },
        },
      },
      {
        apiVersion: `${GROUP}/v1alpha1`,
        kind: 'YurtAppDaemon',
        metadata: { name: 'agent', namespace: 'both' },
        spec: {
          nodepoolSelector: { matchLabels: { tier: 'shop' } },
          workloadTemplate: { deploymentTemplate: template('agent') },
        },
      },
      {
        apiVersion: `${GROUP}/v1alpha1`,
        kind: 'YurtAppOverrider',
        metadata: { name: 'ours', namespace: 'both' },
        subject: { apiVersion: `${GROUP}/v1alpha1`, kind: 'YurtAppDaemon', name: 'agent' },
        entries: [
          {
            pools: ['*'],
            items: [{ replicas: 0 }],
            patches: [{ operation: 'add', path: '/spec/template/spec/hostNetwork', value: true }],
          },
        ],
      },
    );
    const old = await appears<Deployment>('deployment old-west', 'both');
    expect(old.spec?.template.spec?.containers[0]?.image).toBe('web:2');
    expect(old.spec?.replicas).toBe(1);
    const agent = await appears<Deployment>(
      'deployment agent-east',
      'both',
      ({ spec }) => spec?.replicas === 0,
    );
    expect(agent.spec?.template.spec?.hostNetwork).toBe(true);
    const { status } = await appears<YurtAppDaemon>(
      'yurtappdaemon agent',
      'both',
      (found) => found.status?.overriderRef === 'ours' && found.status.workloadSummary?.length === 1,
    );
    expect(status?.nodepools).toEqual(['east']);
    // The API server stores v1beta1, and returns all fields in both versions.
    const stored = await world.get<YurtAppSet>('yurtappsets.v1beta1.apps.openyurt.io old', 'both');
    expect(stored.spec?.topology?.pools?.[0]?.patch).toBeDefined();
  });

  it('report that the namespace does not grant the manager to deploy', async () => {
    await world.cloud.kubectl.run('create namespace closed');
    await apply({
      apiVersion: `${GROUP}/v1beta1`,
      kind: 'YurtAppSet',
      metadata: { name: 'web', namespace: 'closed' },
      spec: { pools: ['east'], workload: { workloadTemplate: { deploymentTemplate: template('web') } } },
    });
    const { status } = await appears<YurtAppSet>(
      'yurtappset web',
      'closed',
      (found) => getCondition(found.status?.conditions, 'AppDispatched')?.reason === 'Forbidden',
    );
    expect(getCondition(status?.conditions, 'AppDispatched')?.message).toContain(
      'kubectl create rolebinding',
    );
  });
});
