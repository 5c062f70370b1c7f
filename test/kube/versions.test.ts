/** The manager on the oldest API server that it supports, which does not have much of what it uses elsewhere. */
import type { KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/cluster.ts';
import { PROGRAM } from '../support/repository.ts';
import { ControlPlane, SERVER_ADDRESS } from './support/control-plane.ts';
import { createNode } from './support/objects.ts';
import { Program } from './support/program.ts';

const HEALTH = `http://${SERVER_ADDRESS}:8081/readyz`;

let cloud: ControlPlane;
let manager: Program;
beforeAll(async () => {
  cloud = await ControlPlane.create();
  await cloud.namespace.addAddress(SERVER_ADDRESS);
  // Packets need a route, also to addresses of the machine itself.
  await cloud.namespace.ip('route', 'add', 'default', 'dev', 'lo');
  await cloud.start();
  await cloud.kubectl.run('create namespace ingress-nginx');
  manager = new Program(
    cloud.namespace,
    cloud.directory,
    [
      ...[process.execPath, PROGRAM, 'manager', '--kubeconfig', cloud.adminKubeconfig, '--install-crds'],
      ...['--webhook-bind-address', SERVER_ADDRESS, '--admin-bind-address', SERVER_ADDRESS],
      ...['--leader-elect', 'false'],
    ],
    'manager',
  );
  await manager.start(() => cloud.namespace.run('curl', '-sSf', HEALTH));
});
afterAll(async () => {
  await manager?.stop();
  await cloud?.remove();
});

const kubectl = (args: string): Promise<string> => cloud.kubectl.run(args);
const apply = (...objects: object[]): Promise<string> => cloud.kubectl.apply(...objects);

describe('on Kubernetes 1.20, the manager', () => {
  it('installs its definitions without validation rules, which do not exist there', async () => {
    expect(await kubectl('version -o json')).toContain('"v1.20.2"');
    const definition = await kubectl('get crd nodepools.apps.openyurt.io -o json');
    expect(definition).toContain('NamesAccepted');
    expect(definition).not.toContain('x-kubernetes-validations');
  });

  it('configures its webhooks without conditions, and those of nodes fail open', async () => {
    const { webhooks } = await cloud.kubectl.json<
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

  it('enforces the rules of the schemas with the webhook', async () => {
    const pool = (name: string, spec: object): object => ({
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name },
      spec,
    });
    await apply(pool('shop', { type: 'Edge' }));
    await expect(apply(pool('shop', { type: 'Cloud' }))).rejects.toThrow('type is immutable');
    await expect(apply(pool('a'.repeat(64), {}))).rejects.toThrow('at most 63 characters');
    await expect(apply(pool('other', { type: 'Cloud', hostNetwork: true }))).rejects.toThrow(
      'hostNetwork is not allowed for the type Cloud',
    );
  });

  it('creates Services and workloads whose ports have no protocol', async () => {
    await createNode(cloud.kubectl, 'node-a');
    await apply({
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'NodeGroup',
      metadata: { name: 'hangzhou' },
      spec: { nodes: ['node-a'] },
    });
    const labels = { app: 'web' };
    const container = { name: 'web', image: 'web', ports: [{ containerPort: 8080 }] };
    await apply({
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'EdgeApplication',
      metadata: { name: 'web' },
      spec: {
        workloadTemplate: {
          manifests: [
            {
              apiVersion: 'apps/v1',
              kind: 'Deployment',
              metadata: { name: 'web' },
              spec: {
                selector: { matchLabels: labels },
                template: { metadata: { labels }, spec: { containers: [container] } },
              },
            },
            {
              apiVersion: 'v1',
              kind: 'Service',
              metadata: { name: 'web' },
              spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
            },
          ],
        },
        workloadScope: { targetNodeGroups: [{ name: 'hangzhou' }] },
      },
    });
    await eventually('the objects of the application exist', async () => {
      expect(await kubectl('get service web -o jsonpath={.spec.ports[0].protocol}')).toBe('TCP');
      expect(await kubectl('get deployments -o name')).toContain('deployment.apps/web-hangzhou');
      return true;
    });
  });

  it('writes the status of an application with objects of the core group, whose name is empty', async () => {
    await eventually('the status is written', async () => {
      const { status } = await cloud.kubectl.json<KubeObject>('get edgeapplication web');
      expect(JSON.stringify(status)).toContain('"kind":"Service"');
      return true;
    });
  });

  it('gives routers with several replicas a disruption budget of the version that exists', async () => {
    await apply({
      apiVersion: 'apps.openyurt.io/v1alpha1',
      kind: 'YurtIngress',
      metadata: { name: 'cities' },
      spec: { ingress_controller_replicas_per_pool: 2, pools: [{ name: 'hangzhou' }] },
    });
    await eventually('the router has a disruption budget', async () => {
      const budget = await cloud.kubectl.json<KubeObject>(
        '-n ingress-nginx get poddisruptionbudget tidegate-router-hangzhou',
      );
      expect(budget).toMatchObject({ apiVersion: 'policy/v1beta1', spec: { maxUnavailable: 1 } });
      return true;
    });
  });

  it('writes the status of a YurtIngress', async () => {
    await eventually('the status is written', async () => {
      const { status } = await cloud.kubectl.json<KubeObject>('get yurtingress cities');
      expect(status).toMatchObject({
        ingress_controller_replicas_per_pool: 2,
        unreadyNum: 1,
      });
      // This version refuses an empty text in the status, so it is left out.
      expect(status).not.toHaveProperty('ingress_webhook_certgen_image');
      return true;
    });
    expect(manager.lastLines()).not.toContain('"level":"fatal"');
  });
});
