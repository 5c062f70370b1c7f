/**
 * Tidegate as it is installed, on the oldest API server that it supports. That is the version of the cluster of all suites; this
 * suite contains what is different there.
 */
import type { KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/cluster.ts';
import { Kubectl } from '../../support/kubectl.ts';
import type { RealCluster } from '../cluster/cluster.ts';
import { SERVER_URL } from '../support/control-plane.ts';
import { createNode } from '../support/objects.ts';

/** Nodes without a kubelet, on which no pod can run. */
const NODES = ['spare-1', 'spare-2'];
const POOL = 'oldest';

export function oldestVersion(cluster: () => RealCluster): void {
  const kubectl = (args: string): Promise<string> => cluster().kubectl.run(args);
  const apply = (...objects: object[]): Promise<string> => cluster().kubectl.apply(...objects);
  beforeAll(async () => {
    for (const name of NODES) await createNode(cluster().kubectl, name);
  });
  afterAll(async () => {
    await kubectl('delete edgeapplication oldest --ignore-not-found');
    await kubectl('delete yurtingress oldest --ignore-not-found --timeout=240s');
    await kubectl(`delete nodepool ${POOL}-shop --ignore-not-found --timeout=240s`);
    await kubectl(`delete nodegroup ${POOL} --ignore-not-found --timeout=240s`);
    await kubectl(`delete node ${NODES.join(' ')}`);
  });

  test('installs its definitions without validation rules, which do not exist there', async () => {
    expect(await kubectl('version -o json')).toContain('"v1.20.2"');
    const definition = await kubectl('get crd nodepools.apps.openyurt.io -o json');
    expect(definition).toContain('NamesAccepted');
    expect(definition).not.toContain('x-kubernetes-validations');
  });

  test('configures its webhooks without conditions, and those of nodes fail open', async () => {
    const { webhooks } = await cluster().kubectl.json<
      KubeObject & { webhooks: { name: string; failurePolicy: string }[] }
    >('get validatingwebhookconfiguration tidegate');
    expect(JSON.stringify(webhooks)).not.toContain('matchConditions');
    const policies = Object.fromEntries(webhooks.map((each) => [each.name, each.failurePolicy]));
    expect(policies).toMatchObject({
      'nodes.tidegate.io': 'Ignore',
      'status.nodes.tidegate.io': 'Ignore',
      'edgeapplications.apps.kubeedge.io.tidegate.io': 'Fail',
    });
  });

  test('enforces the rules of the schemas with the webhook', async () => {
    const pool = (name: string, spec: object): object => ({
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name },
      spec,
    });
    await apply(pool(`${POOL}-shop`, { type: 'Edge' }));
    await expect(apply(pool(`${POOL}-shop`, { type: 'Cloud' }))).rejects.toThrow('type is immutable');
    await expect(apply(pool('a'.repeat(64), {}))).rejects.toThrow('at most 63 characters');
    await expect(apply(pool('other', { type: 'Cloud', hostNetwork: true }))).rejects.toThrow(
      'hostNetwork is not allowed for the type Cloud',
    );
  });

  // This version has CVE-2021-25735: the old object that webhooks receive has the new labels.
  test('protects the pool of a node', async () => {
    const { cloud } = cluster();
    const identity = cloud.credentials.client('system:node:spare-1', 'system:nodes');
    const kubeconfig = cloud.credentials.kubeconfig('spare-1', SERVER_URL, identity);
    const node = new Kubectl(kubeconfig, cloud.namespace.wrapper);
    await expect(
      node.run('label node spare-1 apps.openyurt.io/desired-nodepool=oldest-shop'),
    ).rejects.toThrow('it decides to which pool the node belongs');
    await node.run('label node spare-1 disk=fast');
    // Nor through the status, which the kubelet writes. kubectl would read the status before, which nodes may not.
    const files = {
      cert: cloud.credentials.write('spare-1.crt', identity.certificate),
      key: cloud.credentials.write('spare-1.key', identity.key),
    };
    const patchAsNode = (patch: object): Promise<string> =>
      cloud.namespace.run(
        ...['curl', '-sS', '--cacert', cloud.credentials.caFile, '--cert', files.cert, '--key', files.key],
        ...['-X', 'PATCH', '-H', 'Content-Type: application/merge-patch+json', '-d', JSON.stringify(patch)],
        `${SERVER_URL}/api/v1/nodes/spare-1/status`,
      );
    const labels = { 'apps.openyurt.io/nodepool': `${POOL}-shop` };
    expect(await patchAsNode({ metadata: { labels } })).toContain(
      'it decides to which pool the node belongs',
    );
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Testing' }];
    expect(await patchAsNode({ status: { conditions } })).toContain('"reason": "Testing"');
    expect(await kubectl('get node spare-1 -o jsonpath={.metadata.labels}')).not.toContain('nodepool');
  });

  test('creates Services and workloads whose ports have no protocol', async () => {
    await apply({
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'NodeGroup',
      metadata: { name: POOL },
      spec: { nodes: ['spare-1'] },
    });
    const labels = { app: 'oldest' };
    const container = { name: 'web', image: 'web', ports: [{ containerPort: 8080 }] };
    await apply({
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'EdgeApplication',
      metadata: { name: 'oldest' },
      spec: {
        workloadTemplate: {
          manifests: [
            {
              apiVersion: 'apps/v1',
              kind: 'Deployment',
              metadata: { name: 'oldest' },
              spec: {
                selector: { matchLabels: labels },
                template: { metadata: { labels }, spec: { containers: [container] } },
              },
            },
            {
              apiVersion: 'v1',
              kind: 'Service',
              metadata: { name: 'oldest' },
              spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
            },
          ],
        },
        workloadScope: { targetNodeGroups: [{ name: POOL }] },
      },
    });
    await eventually('the objects of the application exist', async () => {
      expect(await kubectl('get service oldest -o jsonpath={.spec.ports[0].protocol}')).toBe('TCP');
      expect(await kubectl('get deployments -o name')).toContain('deployment.apps/oldest-oldest');
      return true;
    });
  });

  test('writes the status of an application with objects of the core group, whose name is empty', async () => {
    await eventually('the status is written', async () => {
      const { status } = await cluster().kubectl.json<KubeObject>('get edgeapplication oldest');
      expect(JSON.stringify(status)).toContain('"kind":"Service"');
      return true;
    });
  });

  test('writes the status of a NodeGroup that its last node leaves, and removes it when it is deleted', async () => {
    const group = (nodes: string[]): object => ({
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'NodeGroup',
      metadata: { name: 'emptied' },
      spec: { nodes },
    });
    const until = (count: number): Promise<unknown> =>
      eventually(`the group has ${count} nodes`, async () => {
        const { status } = await cluster().kubectl.json<
          KubeObject & { status?: { nodeStatuses?: object[] } }
        >('get nodegroup emptied');
        return status?.nodeStatuses?.length === count || undefined;
      });
    await apply(group(['spare-2']));
    await until(1);
    await apply(group([]));
    await until(0);
    await apply(group(['spare-2']));
    await until(1);
    await kubectl('delete nodegroup emptied --timeout=240s');
    expect(await kubectl('get node spare-2 -o jsonpath={.metadata.labels}')).not.toContain('emptied');
  });

  test('gives routers with several replicas a disruption budget of the version that exists', async () => {
    await apply({
      apiVersion: 'apps.openyurt.io/v1alpha1',
      kind: 'YurtIngress',
      metadata: { name: 'oldest' },
      spec: { ingress_controller_replicas_per_pool: 2, pools: [{ name: POOL }] },
    });
    await eventually('the router has a disruption budget', async () => {
      const budget = await cluster().kubectl.json<KubeObject>(
        '-n ingress-nginx get poddisruptionbudget tidegate-router-oldest',
      );
      expect(budget).toMatchObject({ apiVersion: 'policy/v1beta1', spec: { maxUnavailable: 1 } });
      return true;
    });
  });

  test('writes the status of a YurtIngress', async () => {
    await eventually('the status is written', async () => {
      const { status } = await cluster().kubectl.json<KubeObject>('get yurtingress oldest');
      expect(status).toMatchObject({
        ingress_controller_replicas_per_pool: 2,
        unreadyNum: 1,
      });
      // This version refuses an empty text in the status, so it is left out.
      expect(status).not.toHaveProperty('ingress_webhook_certgen_image');
      return true;
    });
  });
}
