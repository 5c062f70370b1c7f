/** What the status of applications reports about objects that exist, but do not work. */
import { DEPLOYMENTS, type KubeClient, PODS, type Resource } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EDGE_APPLICATIONS, NODE_GROUPS } from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { application, deployment, entryOf, observe, runApplications } from './support.ts';

const AUTOSCALERS: Resource = {
  group: 'autoscaling',
  version: 'v2',
  resource: 'horizontalpodautoscalers',
  namespaced: true,
};
const namespace = 'default';

describe('the status of an application', () => {
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
    end = runApplications(client);
  });
  afterAll(async () => {
    await end();
    await server.stop();
  });

  it('contains what the pods report', async () => {
    const { appears, readyBecomes } = observe(client);
    await client.create(
      EDGE_APPLICATIONS,
      application('shop', [deployment()], { targetNodeGroups: [{ name: 'hangzhou' }] }),
    );
    const { metadata, spec } = await appears(DEPLOYMENTS, 'web-hangzhou');
    await client.patch(DEPLOYMENTS, { name: 'web-hangzhou', namespace, subresource: 'status' }, 'merge', {
      status: { observedGeneration: metadata.generation, replicas: 1, updatedReplicas: 1 },
    });
    await readyBecomes('shop', /Progressing: .*0 of 1 pods are available$/);
    await client.create(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace, labels: spec?.template.metadata?.labels ?? {} },
      spec: spec!.template.spec!,
    });
    const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "web:1"' };
    const status = {
      containerStatuses: [
        { name: 'web', image: 'web:1', imageID: '', ready: false, restartCount: 0, state: { waiting } },
      ],
    };
    await client.patch(PODS, { name: 'p', namespace, subresource: 'status' }, 'merge', { status });
    const shop = await readyBecomes('shop', /False ImagePullBackOff: .*1 pod: ImagePullBackOff/);
    expect(entryOf(shop, 'web-hangzhou')?.conditions?.[0]?.message).toBe(
      '0 of 1 pods are available; 1 pod: ImagePullBackOff (container web: Back-off pulling image "web:1")',
    );
  });

  it('contains the conditions of objects that run no pods', async () => {
    const { appears, readyBecomes } = observe(client);
    const autoscaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'lost' },
      spec: {
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'nothing' },
      },
    };
    await client.create(EDGE_APPLICATIONS, application('scaled', [autoscaler]));
    await appears(AUTOSCALERS, 'lost');
    await client.patch(AUTOSCALERS, { name: 'lost', namespace, subresource: 'status' }, 'merge', {
      status: {
        currentReplicas: 0,
        desiredReplicas: 0,
        conditions: [
          { type: 'AbleToScale', status: 'False', reason: 'FailedGetScale', message: 'not found' },
        ],
      },
    });
    await readyBecomes('scaled', /False ScalingFailed: .*AbleToScale is False: FailedGetScale: not found/);
  });
});
