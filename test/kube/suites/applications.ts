/** Applications with kinds that the manager may not create by default, and controllers of Kubernetes that change its objects. */
import type { Deployment, KubeObject } from '@tidegate/kube';
import { expect, test } from 'vitest';
import { eventually } from '../../support/cluster.ts';
import type { RealCluster } from '../cluster/cluster.ts';

const POOL = 'beijing';

const edgeApplication = (name: string, ...manifests: object[]): object => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name },
  spec: {
    workloadTemplate: { manifests },
    workloadScope: { targetNodeGroups: [{ name: POOL }] },
  },
});

const SECRET = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'till' },
  stringData: { pin: '1234' },
};
const COUNTER = {
  apiVersion: 'shop.example.com/v1',
  kind: 'Counter',
  metadata: { name: 'sales' },
  spec: { start: 1 },
};
const COUNTERS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'counters.shop.example.com' },
  spec: {
    group: 'shop.example.com',
    scope: 'Namespaced',
    names: { kind: 'Counter', plural: 'counters', singular: 'counter' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { start: { type: 'integer' } } } },
          },
        },
      },
    ],
  },
};

export function applications(cluster: () => RealCluster): void {
  const kubectl = (args: string): Promise<string> => cluster().kubectl.run(args);
  const statusOf = async (name: string): Promise<string> =>
    JSON.stringify((await cluster().kubectl.json<KubeObject>(`get edgeapplication ${name}`)).status);

  test('a Secret and a custom resource wait for a role that allows them', async () => {
    await cluster().kubectl.apply(COUNTERS);
    await kubectl('wait --for=condition=Established crd/counters.shop.example.com --timeout=240s');
    await cluster().kubectl.apply(edgeApplication('till', SECRET, COUNTER));
    await eventually('the status names what is not allowed', async () => {
      expect(await statusOf('till')).toMatch(/secrets.*(?:forbidden|permission)/i);
      return true;
    });
    await kubectl(
      'create clusterrole our-apps --verb=get,list,watch,create,patch,delete --resource=secrets,counters.shop.example.com',
    );
    await kubectl(
      'create rolebinding our-apps --namespace default --clusterrole our-apps --serviceaccount tidegate-system:tidegate-apps',
    );
    await eventually('both objects exist', async () => {
      expect(await kubectl('get secret till -o jsonpath={.data.pin}')).toBe('MTIzNA==');
      expect(await kubectl('get counter sales -o jsonpath={.spec.start}')).toBe('1');
      return true;
    });
  });

  test('objects are deleted with their application', async () => {
    await kubectl('delete edgeapplication till --timeout=240s');
    await eventually('both objects are deleted', async () => {
      expect(await kubectl('get secrets,counters --ignore-not-found -o name')).not.toMatch(/till|sales/);
      return true;
    });
  });

  test('an autoscaler changes the number of pods, and Tidegate leaves it', async () => {
    const labels = { app: 'scaled' };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'scaled' },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: 'cart', image: 'cart', imagePullPolicy: 'IfNotPresent' }] },
        },
      },
    };
    const autoscaler = {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'scaled' },
      spec: {
        minReplicas: 2,
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: `scaled-${POOL}` },
      },
    };
    await cluster().kubectl.apply(edgeApplication('scaled', deployment, autoscaler));
    const scaled = (): Promise<Deployment> =>
      cluster().kubectl.json<Deployment>(`get deployment scaled-${POOL}`);
    await eventually('two pods are ready', async () => {
      expect((await scaled()).status?.readyReplicas).toBe(2);
      return true;
    });
    // A change of the application applies its objects again.
    await kubectl(
      `patch edgeapplication scaled --type=json -p [{"op":"add","path":"/spec/workloadTemplate/manifests/0/metadata/annotations","value":{"changed":"yes"}}]`,
    );
    await eventually('the change is applied', async () => {
      const { metadata, spec } = await scaled();
      expect(metadata.annotations).toMatchObject({ changed: 'yes' });
      expect(spec?.replicas).toBe(2);
      return true;
    });
    await kubectl('delete edgeapplication scaled --timeout=240s');
  });
}
