import {
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  type HorizontalPodAutoscaler,
  type KubeObject,
} from '@tidegate/kube';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { deploymentController } from '../workloads/deployment/index.ts';
import { replicaSetController } from '../workloads/replicaset/index.ts';
import { TestCluster } from '../workloads/testing/test-cluster.ts';
import { autoscalingController } from './index.ts';

const POD_METRICS = { group: 'metrics.k8s.io', version: 'v1beta1', resource: 'pods', namespaced: true };

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start([autoscalingController, deploymentController, replicaSetController]);
});
afterAll(() => cluster.stop());
beforeEach(() => cluster.useNewNamespace());

async function runWeb(usage: string, resources: object = { requests: { cpu: '100m' } }): Promise<void> {
  await cluster.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', annotations: { 'metrics.tidegate.io/usage': usage } },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'web', resources }] },
      },
    },
  } as KubeObject);
  const [pod] = await cluster.eventually('a pod', async () => {
    const pods = await cluster.pods();
    return pods.length === 1 && pods;
  });
  await cluster.reportReady(pod!);
}

const autoscale = (spec: object = {}): Promise<HorizontalPodAutoscaler> =>
  cluster.create(HORIZONTAL_POD_AUTOSCALERS, {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 1,
      maxReplicas: 10,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
        },
      ],
      ...spec,
    },
  } as HorizontalPodAutoscaler);

const condition = (type: string) =>
  cluster.eventually(`the condition ${type}`, async () => {
    const { status } = await cluster.get(HORIZONTAL_POD_AUTOSCALERS, 'web');
    return status?.conditions?.find((one) => one.type === type);
  });

it('scales a workload up to its load, as fast as the policies allow', async () => {
  await runWeb('cpu=400m');
  await autoscale();
  await cluster.eventually(
    'five replicas',
    async () => (await cluster.get(DEPLOYMENTS, 'web')).spec?.replicas === 5,
  );
  const { status } = await cluster.eventually('the status', async () => {
    const hpa = await cluster.get(HORIZONTAL_POD_AUTOSCALERS, 'web');
    return hpa.status?.desiredReplicas === 5 && hpa;
  });
  expect(status?.currentMetrics).toEqual([
    {
      type: 'Resource',
      resource: { name: 'cpu', current: { averageUtilization: 400, averageValue: '400m' } },
    },
  ]);
  expect(await condition('ScalingLimited')).toMatchObject({ status: 'True', reason: 'ScaleUpLimit' });
  await cluster.eventually('the event', async () => (await cluster.events('SuccessfulRescale')).length > 0);
  expect(await cluster.events('SuccessfulRescale')).toEqual([
    'New size: 5; reason: cpu resource utilization (percentage of request) above target',
  ]);
  const [measured] = (await cluster.client.list(POD_METRICS, { namespace: cluster.namespace })).items;
  expect(measured).toMatchObject({ containers: [{ name: 'web', usage: { cpu: '400m' } }] });
});

it('keeps a workload within its bounds', async () => {
  await runWeb('cpu=10m');
  await autoscale({ minReplicas: 3 });
  await cluster.eventually(
    'three replicas',
    async () => (await cluster.get(DEPLOYMENTS, 'web')).spec?.replicas === 3,
  );
});

it('reports why it cannot compute the number of replicas', async () => {
  await runWeb('cpu=400m', {});
  await autoscale();
  expect(await condition('ScalingActive')).toMatchObject({
    status: 'False',
    reason: 'FailedGetResourceMetric',
    message: expect.stringContaining('missing request for cpu in container of Pod web-'),
  });
});

it('reports a target that does not exist', async () => {
  await autoscale();
  expect(await condition('AbleToScale')).toMatchObject({
    status: 'False',
    reason: 'FailedGetScale',
    message: expect.stringContaining('deployments.apps "web" not found'),
  });
});
