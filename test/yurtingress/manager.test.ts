/** Front doors with the real manager and kubectl. The tests write the status of pods, as kubelets would. */

import { runControllers } from '@tidegate/envtest/controllers';
import {
  Applier,
  getCondition,
  INGRESSES,
  isBeingDeleted,
  isNotFound,
  KubeClient,
  type KubeObject,
  loadConfig,
  Metrics,
  NODES,
  PODS,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { L7_ROUTERS, ROUTER_LABEL } from '../../packages/tidegate/src/api/index.ts';
import { type Manager, startManager, VALIDATING_CONFIGURATIONS } from '../manager/support.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { eventually } from '../support/patience.ts';
import { makePool, World } from './world.ts';

let server: Embedded;
let client: KubeClient;
let kubectl: Kubectl;
let manager: Manager;
let world: World;
let controllers: Promise<void>;
const stop = new AbortController();

beforeAll(async () => {
  server = await startEmbedded();
  kubectl = new Kubectl(server.kubeconfig);
  client = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
  world = new World(client);
  const { signal } = stop;
  controllers = runControllers({
    client,
    clusterCidr: '127.100.0.0/16',
    nodeGraceMs: 600_000,
    log: silentLogger,
    metrics: new Metrics(),
    signal,
  });
  manager = await startManager(client, { routerPolicy: { images: ['example/nope:*'] } });
  for (const pool of ['hangzhou', 'beijing']) await makePool(client, pool, NODE_STATUS);
});
afterAll(async () => {
  await manager.stop();
  stop.abort();
  await controllers;
  await client.close();
  await server.stop();
});

const NODE_STATUS = {
  allocatable: { cpu: '4', memory: '8Gi', pods: '100' },
  addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
  conditions: [{ type: 'Ready', status: 'True' }],
};

const yurtIngress = (name: string, ...pools: string[]) => ({
  apiVersion: 'apps.openyurt.io/v1alpha1',
  kind: 'YurtIngress',
  metadata: { name },
  spec: { pools: pools.map((pool) => ({ name: pool })) },
});
const ingress = (name: string, ingressClassName: string, host: string, more: object = {}) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name, namespace: 'default', ...more },
  spec: {
    ingressClassName,
    rules: [
      {
        host,
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } },
          ],
        },
      },
    ],
  },
});

/** Writes the status of a pod of the router, as a kubelet would. A running router reports that it serves its hosts. */
async function setPod(router: string, status: object, image = 'tidegate'): Promise<void> {
  const { metadata } = await eventually(async () => {
    const { items } = await client.list(PODS, { labelSelector: `${ROUTER_LABEL}=${router}` });
    return items.find((pod) => !isBeingDeleted(pod) && pod.spec?.containers[0]?.image === image);
  });
  const { name = '', namespace } = metadata;
  await client.patch(PODS, { name, namespace, subresource: 'status' }, 'strategic', { status });
  if (status !== running) return;
  const { apiVersion, kind, metadata: of } = (await world.door(router)).router;
  const agent = { name, appliedGeneration: of.generation ?? 1 };
  const report = { apiVersion, kind, metadata: { name: router }, status: { agents: [agent] } };
  await new Applier(client, name).applyStatus<KubeObject>(report, { resource: L7_ROUTERS });
}
const running = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  containerStatuses: [
    { name: 'router', ready: true, restartCount: 0, image: 'tidegate', imageID: '', state: { running: {} } },
  ],
};
const waiting = (reason: string, message: string, lastState: object = {}) => ({
  phase: 'Pending',
  conditions: [{ type: 'Ready', status: 'False' }],
  containerStatuses: [
    {
      name: 'router',
      ready: false,
      restartCount: 3,
      image: 'tidegate',
      imageID: '',
      state: { waiting: { reason, message } },
      lastState,
    },
  ],
});
const crashing = waiting('CrashLoopBackOff', 'back-off 40s restarting failed container', {
  terminated: { exitCode: 78, reason: 'Error' },
});

describe('front doors', () => {
  it('become ready independently, and a failing one reports the message of its pods', async () => {
    await kubectl.apply(yurtIngress('doors', 'hangzhou', 'beijing'));
    await setPod('hangzhou', running);
    await eventually(async () => (await world.summary('doors')).startsWith('hangzhou, beijing Pending '));
    await setPod('beijing', crashing);
    const { status } = await world.becomes('doors', 'hangzhou, beijing Failure CrashLoopBackOff');
    expect(status?.conditions?.unreadypools?.[0]?.unreadyinfo.message).toMatch(
      /^0 of 1 pods are available; pod \S+, container router: back-off 40s .*; last exit code 78$/,
    );
    expect(await kubectl.run('get ying')).toMatch(/doors +1 +1 +1 +False/);
    await setPod('beijing', running);
    await world.becomes('doors', 'hangzhou, beijing');
    expect(await kubectl.run('get ying doors')).toMatch(/doors +1 +2 +0 +True/);
  });

  it('report an image that cannot be pulled, while the routers with the old image keep serving', async () => {
    await world.change('doors', { ingress_controller_image: 'example/nope:1' });
    await setPod('hangzhou', waiting('ImagePullBackOff', 'Back-off pulling image'), 'example/nope:1');
    await eventually(async () =>
      (await world.summary('doors')).startsWith('hangzhou Failure ImagePullBackOff, '),
    );
    const { status } = (await world.door('hangzhou')).router;
    expect(getCondition(status?.conditions, 'Ready')?.status).toBe('True');
    await world.change('doors', { ingress_controller_image: null });
    await world.becomes('doors', 'hangzhou, beijing');
  });

  it('belong to one YurtIngress each, and the API server names it in the error', async () => {
    await expect(kubectl.apply(yurtIngress('second', 'hangzhou'))).rejects.toThrow(
      'spec.pools[0].name: pool hangzhou already belongs to YurtIngress doors: remove it there first',
    );
    const warned = await kubectl.apply(yurtIngress('second', 'atlantis'));
    expect(warned).toContain('Warning: spec.pools[0].name: NodePool or NodeGroup "atlantis" not found');
    // Its pool does not exist, so there is nothing to clean up.
    await kubectl.run('delete ying second');
  });
});

describe('Ingresses of front doors', () => {
  it('are validated before they are stored', async () => {
    const created = await kubectl.apply(ingress('first', 'hangzhou', 'www.example.com'));
    expect(created).toContain('Service default/web not found');
    const asked = kubectl.run(
      'apply --dry-run=server -f -',
      JSON.stringify(ingress('second', 'hangzhou', 'www.example.com')),
    );
    await expect(asked).rejects.toThrow(
      'Prefix / of www.example.com is already served by Ingress default/first, which is older.',
    );
    await kubectl.apply(ingress('second', 'beijing', 'www.example.com'));
    const annotations = { 'tidegate.io/balance': 'random' };
    await expect(
      kubectl.apply(ingress('third', 'beijing', 'b.example.com', { annotations })),
    ).rejects.toThrow('metadata.annotations[tidegate.io/balance]: Invalid value "random": write ');
    await kubectl.apply(ingress('third', 'elsewhere', 'www.example.com', { annotations }));
  });

  it('are sent to the webhook only if their class belongs to Tidegate', async () => {
    const expression = async (): Promise<string> => {
      const { webhooks } = (await client.get<KubeObject>(VALIDATING_CONFIGURATIONS, {
        name: 'tidegate',
      })) as unknown as {
        webhooks: { name: string; failurePolicy: string; matchConditions?: { expression: string }[] }[];
      };
      const webhook = webhooks.find(({ name }) => name.startsWith('ingresses.'));
      expect(webhook?.failurePolicy).toBe('Ignore');
      return webhook?.matchConditions?.[0]?.expression ?? '';
    };
    await eventually(async () => (await expression()).endsWith('in ["beijing","hangzhou"]'));
    await makePool(client, 'wuhan', NODE_STATUS);
    await kubectl.apply(yurtIngress('more', 'wuhan'));
    await eventually(async () => (await expression()).endsWith('in ["beijing","hangzhou","wuhan"]'));
    await kubectl.run('delete ying more');
    await eventually(async () => (await expression()).endsWith('in ["beijing","hangzhou"]'));
  });

  it('can be written while a pool has no nodes, and while no manager runs', async () => {
    await client.delete(NODES, { name: 'hangzhou-1' });
    await kubectl.apply(
      ingress('while-dead', 'beijing', 'c.example.com'),
      ingress('to-dead', 'hangzhou', 'c.example.com'),
    );
    await manager.stop();
    await kubectl.apply(
      ingress('unchecked', 'beijing', 'c.example.com'),
      ingress('other', 'elsewhere', 'c.example.com'),
    );
    for (const name of ['while-dead', 'to-dead', 'unchecked', 'other']) {
      await expect(client.get(INGRESSES, { name, namespace: 'default' })).resolves.not.toSatisfy(isNotFound);
    }
  });
});
