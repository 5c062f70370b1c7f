/** A node that tries to join another pool, with the API server and the manager. */
import {
  type ApiStatusError,
  KubeClient,
  type KubeObject,
  loadConfig,
  NODES,
  type Node,
} from '@tidegate/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  EDGE_APPLICATIONS,
  NODE_GROUPS,
  NODE_POOL_LABEL,
  NODE_POOLS,
} from '../../packages/tidegate/src/api/index.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';
import { type Manager, startManager, VALIDATING_CONFIGURATIONS } from './support.ts';

let server: Embedded;
let admin: KubeClient;
let node: KubeClient;
let manager: Manager;
beforeAll(async () => {
  server = await startEmbedded();
  const config = await loadConfig({ path: server.kubeconfig, env: {} });
  admin = new KubeClient(config);
  node = new KubeClient({ ...config, impersonate: { user: 'system:node:n1', groups: ['system:nodes'] } });
  manager = await startManager(admin);
});
afterAll(async () => {
  await manager.stop();
  await node.close();
  await admin.close();
  await server.stop();
});

const relabel = (labels: Record<string, string | null>, subresource?: 'status'): Promise<Node> =>
  node.patch(NODES, { name: 'n1' }, 'merge', { metadata: { labels } }, { subresource });
const refusal = (request: Promise<unknown>): Promise<string> =>
  request.then(
    () => 'accepted',
    (error: ApiStatusError) => error.message,
  );

it('a node registers with its pool, and cannot change it later', async () => {
  const object = (kind: string, apiVersion: string, name: string, spec: object): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name },
    spec,
  });
  await admin.create(NODE_POOLS, object('NodePool', 'apps.openyurt.io/v1beta2', 'paris', {}));
  await admin.create(NODE_POOLS, object('NodePool', 'apps.openyurt.io/v1beta2', 'lyon', {}));
  await node.create(NODES, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n1', labels: { [NODE_POOL_LABEL]: 'paris' } },
  });
  const message = `cannot change label ${NODE_POOL_LABEL}: it decides to which pool the node belongs`;
  expect(await refusal(relabel({ [NODE_POOL_LABEL]: 'lyon' }))).toContain(message);
  expect(await refusal(relabel({ [NODE_POOL_LABEL]: 'lyon' }, 'status'))).toContain(message);
  expect(await refusal(relabel({ [NODE_POOL_LABEL]: null }))).toContain(message);
  expect(await refusal(relabel({ rack: '7' }))).toBe('accepted');

  // The labels of a new NodeGroup are protected as soon as the API server knows them.
  await admin.create(
    NODE_GROUPS,
    object('NodeGroup', 'apps.kubeedge.io/v1alpha1', 'shops', { matchLabels: { shop: 'yes' } }),
  );
  await eventually(async () => {
    const configuration = await admin.get(VALIDATING_CONFIGURATIONS, { name: 'tidegate' });
    return JSON.stringify(configuration).includes(String.raw`\"shop\"`);
  });
  expect(await refusal(relabel({ shop: 'yes' }))).toContain('cannot change label shop');
  await admin.patch(NODES, { name: 'n1' }, 'merge', { metadata: { labels: { shop: 'yes' } } });

  // So are those of a new application.
  await admin.create(EDGE_APPLICATIONS, {
    apiVersion: 'apps.kubeedge.io/v1alpha1',
    kind: 'EdgeApplication',
    metadata: { name: 'gpus', namespace: 'default' },
    spec: {
      workloadTemplate: { manifests: [] },
      workloadScope: { targetNodeLabels: [{ labelSelector: { matchLabels: { gpu: 'yes' } } }] },
    },
  });
  await eventually(async () => {
    const configuration = await admin.get(VALIDATING_CONFIGURATIONS, { name: 'tidegate' });
    return JSON.stringify(configuration).includes(String.raw`\"gpu\"`);
  });
  expect(await refusal(relabel({ gpu: 'yes' }))).toContain('cannot change label gpu');

  // A node cannot leave and join again.
  expect(await refusal(node.delete(NODES, { name: 'n1' }))).toContain('forbidden');
});

it('a node reports while no manager runs, but still cannot change its pool', async () => {
  await manager.stop();
  const report = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  expect(
    await refusal(node.patch(NODES, { name: 'n1' }, 'strategic', report, { subresource: 'status' })),
  ).toBe('accepted');
  expect(await refusal(relabel({ rack: '8' }))).toBe('accepted');
  expect(await refusal(relabel({ [NODE_POOL_LABEL]: 'lyon' }))).toContain('failed calling webhook');
  manager = await startManager(admin);
});
