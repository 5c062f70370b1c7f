/** Workloads that exist already, or that the API server does not change in place. */
import { DEPLOYMENTS, JOBS, type KubeClient } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATIONS,
  NODE_GROUPS,
} from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { application, deployment, observe, runApplications } from './support.ts';

const namespace = 'default';
const targets = { targetNodeGroups: [{ name: 'hangzhou' }] };

describe('an application', () => {
  let server: EmbeddedWithKinds;
  let client: KubeClient;
  let end: () => Promise<void>;
  beforeAll(async () => {
    server = await startEmbeddedWithKinds();
    client = server.client;
    await client.create(NODE_GROUPS, {
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'NodeGroup',
      metadata: { name: 'hangzhou' },
      spec: {},
    });
  });
  afterAll(async () => {
    await end();
    await server.stop();
  });

  it('takes over a Deployment of KubeEdge without a new revision of its pods', async () => {
    const { appears } = observe(client);
    // As KubeEdge leaves them: the application exists, and the Deployment has an owner reference.
    const { metadata } = await client.create(EDGE_APPLICATIONS, application('shop', [deployment()], targets));
    const { uid } = metadata as { uid?: string };
    const owner = {
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'EdgeApplication',
      name: 'shop',
      uid: uid!,
      controller: true,
    };
    const live = deployment('web', { nodeSelector: { 'apps.kubeedge.io/belonging-to': 'hangzhou' } });
    const before = await client.create(
      DEPLOYMENTS,
      {
        ...live,
        metadata: {
          name: 'web-hangzhou',
          namespace,
          annotations: { 'apps.kubeedge.io/last-applied-template': '{}' },
          ownerReferences: [owner],
        },
      },
      { fieldManager: 'controllermanager' },
    );
    end = runApplications(client);
    const after = await appears(
      DEPLOYMENTS,
      'web-hangzhou',
      (found) => found.metadata.labels?.[EDGE_APPLICATION_LABEL] === 'shop',
    );
    expect(after.metadata.uid).toBe((before.metadata as { uid?: string }).uid);
    expect(after.spec?.template).toEqual((before as typeof after).spec?.template);
    expect(after.spec?.selector).toEqual({ matchLabels: { app: 'web' } });
    const shop = await appears(
      EDGE_APPLICATIONS,
      'shop',
      ({ status }) => status?.workloadStatus !== undefined,
    );
    expect(shop.status?.workloadStatus).toEqual([
      {
        identifier: {
          ordinal: 0,
          group: 'apps',
          version: 'v1',
          kind: 'Deployment',
          resource: 'deployments',
          namespace,
          name: 'web-hangzhou',
        },
        conditions: 'Processing',
      },
    ]);
    // A change of the template is rolled out as usual.
    await client.patch(EDGE_APPLICATIONS, { name: 'shop', namespace }, 'merge', {
      spec: {
        workloadTemplate: {
          manifests: [deployment('web', { containers: [{ name: 'web', image: 'web:2' }] })],
        },
      },
    });
    const changed = await appears(
      DEPLOYMENTS,
      'web-hangzhou',
      ({ spec }) => spec?.template.spec?.containers[0]?.image === 'web:2',
    );
    expect(changed.spec?.template.metadata?.labels).toEqual({ app: 'web' });
    // The target is removed: the application owns the Deployment, although KubeEdge created it.
    await client.patch(EDGE_APPLICATIONS, { name: 'shop', namespace }, 'merge', {
      spec: { workloadScope: { targetNodeGroups: [] } },
    });
    await observe(client).isGone(DEPLOYMENTS, 'web-hangzhou');
  });

  it('creates a Job again whose template has changed', async () => {
    const { appears } = observe(client);
    const job = (image: string, annotations?: object) => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'fill', ...(annotations && { annotations }) },
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image }] } } },
    });
    const change = (manifest: object) =>
      client.patch(EDGE_APPLICATIONS, { name: 'jobs', namespace }, 'merge', {
        spec: { workloadTemplate: { manifests: [manifest] } },
      });
    await client.create(EDGE_APPLICATIONS, application('jobs', [job('fill:1')], targets));
    const first = await appears(JOBS, 'fill-hangzhou');
    await change(job('fill:2'));
    const second = await appears(
      JOBS,
      'fill-hangzhou',
      ({ spec }) => spec?.template.spec?.containers[0]?.image === 'fill:2',
    );
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    await change(job('fill:3', { 'apps.tidegate.io/recreate': 'false' }));
    await observe(client).readyBecomes('jobs', /ApplyFailed: .*immutable/);
    expect((await appears(JOBS, 'fill-hangzhou')).metadata.uid).toBe(second.metadata.uid);
    await client.delete(EDGE_APPLICATIONS, { name: 'jobs', namespace });
    await observe(client).isGone(JOBS, 'fill-hangzhou');
  });
});
