import {
  DAEMON_SETS,
  EventRecorder,
  getCondition,
  type Informer,
  Informers,
  isNotFound,
  type KubeClient,
  type KubeObject,
  Metrics,
  NODES,
  type Node,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Resource,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  DESIRED_NODE_POOL_LABEL,
  NODE_GROUP_LABEL,
  NODE_GROUPS,
  NODE_POOL_LABEL,
  NODE_POOLS,
  type NodeGroup,
  type NodePool,
  WRITTEN_ANNOTATION,
  ZONE_LABEL,
} from '../../packages/tidegate/src/api/index.ts';
import {
  followMembership,
  type Membership,
  poolControllers,
} from '../../packages/tidegate/src/pools/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';

const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };

let server: EmbeddedWithKinds;
let client: KubeClient;
beforeAll(async () => {
  server = await startEmbeddedWithKinds();
  client = server.client;
});
afterAll(() => server.stop());

const group = (name: string, spec: NodeGroup['spec']): NodeGroup => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'NodeGroup',
  metadata: { name },
  spec,
});
const pool = (name: string, spec: NodePool['spec'] = {}): NodePool => ({
  apiVersion: 'apps.openyurt.io/v1beta2',
  kind: 'NodePool',
  metadata: { name },
  spec,
});
const makeNode = (name: string, labels: Record<string, string> = {}, ready = 'True'): Promise<Node> =>
  client.create(NODES, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  });
const makePod = (
  name: string,
  nodeName: string,
  more: object = {},
  metadata: object = {},
): Promise<KubeObject> =>
  client.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...metadata },
    spec: { nodeName, containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 0, ...more },
  });
const label = (name: string, labels: Record<string, string | null>): Promise<Node> =>
  client.patch(NODES, { name }, 'merge', { metadata: { labels } });
const labelsOf = async (name: string): Promise<Record<string, string>> =>
  (await client.get(NODES, { name })).metadata.labels ?? {};
const labelBecomes = (name: string, key: string, value: string | undefined): Promise<unknown> =>
  eventually(async () => (await labelsOf(name))[key] === value || undefined);
const isGone = <T extends KubeObject>(
  resource: Resource<T>,
  name: string,
  namespace?: string,
): Promise<unknown> =>
  eventually(() =>
    client.get(resource, { name, namespace }).then(
      () => undefined,
      (error) => isNotFound(error) || undefined,
    ),
  );
const readyOf = async <T extends NodePool | NodeGroup>(
  resource: Resource<T>,
  name: string,
): Promise<string> => {
  const condition = getCondition((await client.get(resource, { name })).status?.conditions, 'Ready');
  return `${condition?.reason}: ${condition?.message}`;
};
const readyBecomes = <T extends NodePool | NodeGroup>(resource: Resource<T>, name: string, text: RegExp) =>
  eventually(async () => text.test(await readyOf(resource, name)) || undefined);

describe('the pool controllers', () => {
  let stop: AbortController;
  let running: Promise<unknown>;
  let membership: Membership;
  let nodes: Informer<Node>;
  let recorder: EventRecorder;
  let reconciles: () => Promise<number>;

  beforeEach(async () => {
    stop = new AbortController();
    const informers = new Informers(client);
    const followed = followMembership(informers);
    nodes = informers.for(NODES);
    membership = followed.membership;
    recorder = new EventRecorder(client, { component: 'tidegate-pools' });
    const metrics = new Metrics();
    const context = {
      client,
      informers,
      membership,
      recorder,
      metrics,
      log: silentLogger,
      clock: systemClock,
    };
    const controllers = poolControllers(context).map((controller) => controller.run(stop.signal));
    running = Promise.all([informers.run(stop.signal), ...controllers]);
    reconciles = async () =>
      [...(await metrics.scrape()).matchAll(/^controller_runtime_reconcile_total\{.*\} (\d+)$/gm)]
        .map(([, count]) => Number(count))
        .reduce((sum, count) => sum + count, 0);
    await followed.synced;
  });

  afterEach(async () => {
    // Delete the pools while the controllers still run, so that their finalizers are removed.
    await client.deleteCollection(PODS, { namespace: 'default', gracePeriodSeconds: 0 });
    await client.deleteCollection(POD_DISRUPTION_BUDGETS, { namespace: 'default' });
    await client.deleteCollection(NODES);
    await client.deleteCollection(NODE_GROUPS);
    await client.deleteCollection(NODE_POOLS);
    await eventually(async () => (await client.list(NODE_GROUPS)).items.length === 0 || undefined);
    await eventually(async () => (await client.list(NODE_POOLS)).items.length === 0 || undefined);
    stop.abort();
    await running;
    await recorder.close();
  });

  it('selects nodes by name and label, and reports missing and unready nodes', async () => {
    await makeNode('a', { location: 'hangzhou' });
    await makeNode('b', {}, 'False');
    await client.create(
      NODE_GROUPS,
      group('hangzhou', { matchLabels: { location: 'hangzhou' }, nodes: ['b', 'c'] }),
    );
    await readyBecomes(NODE_GROUPS, 'hangzhou', /^NodesMissing: Nodes do not exist: c$/);
    const { status } = await eventually(async () => {
      const found = await client.get(NODE_GROUPS, { name: 'hangzhou' });
      return found.status?.containedNodes?.length === 2 ? found : undefined;
    });
    expect(status).toMatchObject({
      containedNodes: ['a', 'b'],
      readyNodeNum: 1,
      unreadyNodeNum: 1,
      nodeStatuses: [
        { nodeName: 'a', readyStatus: 'Ready', selectionStatus: 'Succeeded' },
        { nodeName: 'b', readyStatus: 'NotReady', selectionStatus: 'Succeeded' },
        {
          nodeName: 'c',
          readyStatus: 'Unknown',
          selectionStatus: 'Failed',
          selectionStatusReason: 'node does not exist',
        },
      ],
    });
    await makeNode('c');
    await readyBecomes(NODE_GROUPS, 'hangzhou', /^NodesNotReady: 1 of 3 nodes are not ready: b$/);
    await labelBecomes('c', NODE_GROUP_LABEL, 'hangzhou');
  });

  it('moves a node with its labels and status, and evicts pods that no longer fit', async () => {
    await makeNode('b', { location: 'hangzhou' });
    for (const name of ['hangzhou', 'beijing']) {
      await client.create(NODE_GROUPS, group(name, { matchLabels: { location: name } }));
    }
    await labelBecomes('b', NODE_GROUP_LABEL, 'hangzhou');
    const here = { nodeSelector: { [NODE_GROUP_LABEL]: 'hangzhou' } };
    const template = { metadata: { labels: { d: 'd' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await client.create(DAEMON_SETS, {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'd', namespace: 'default' },
      spec: { selector: { matchLabels: { d: 'd' } }, template },
    });
    const { uid } = (await client.get(DAEMON_SETS, { name: 'd', namespace: 'default' })).metadata;
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid, controller: true };
    await makePod('placed', 'b', here);
    await makePod('anywhere', 'b');
    await makePod('daemon', 'b', here, { ownerReferences: [owner] });
    await label('b', { location: 'beijing' });
    await labelBecomes('b', NODE_GROUP_LABEL, 'beijing');
    await isGone(PODS, 'placed', 'default');
    await readyBecomes(NODE_GROUPS, 'hangzhou', /^NoNodes/);
    await readyBecomes(NODE_GROUPS, 'beijing', /^NodesReady/);
    const left = (await client.list(PODS, { namespace: 'default' })).items.map(
      ({ metadata }) => metadata.name,
    );
    expect(left).toEqual(['anywhere', 'daemon']);
    expect(membership.poolOf('NodeGroup', 'b')).toBe('beijing');
    await eventually(async () => {
      const events = (await client.list(EVENTS, { namespace: 'default' })).items;
      const reasons = events.map(({ reason }) => reason);
      return (
        ['NodesJoined', 'NodesLeft', 'LeftPool'].every((reason) => reasons.includes(reason)) || undefined
      );
    });
  });

  it('evicts pods that must be outside of pools only if a node is there', async () => {
    const outside = {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: NODE_GROUP_LABEL, operator: 'DoesNotExist' }] }],
          },
        },
      },
    };
    await makeNode('a');
    await makeNode('reserved');
    await client.patch(NODES, { name: 'reserved' }, 'merge', {
      spec: { taints: [{ key: 'node-role.kubernetes.io/master', effect: 'NoSchedule' }] },
    });
    await makePod('manager', 'a', outside);
    await makePod('placed', 'a', { nodeSelector: { [NODE_GROUP_LABEL]: 'other' } });
    await client.create(NODE_GROUPS, group('all', { nodes: ['a'] }));
    // The same pass over the node evicts one pod and leaves the other.
    await isGone(PODS, 'placed', 'default');
    const manager = { name: 'manager', namespace: 'default' };
    expect((await client.get(PODS, manager)).metadata.deletionTimestamp).toBeUndefined();
    await makeNode('free');
    await isGone(PODS, 'manager', 'default');
  });

  it('respects disruption budgets, and does not assign a node to a second group', async () => {
    await makeNode('a', { site: 'x' });
    await client.create(NODE_GROUPS, group('first', { matchLabels: { site: 'x' } }));
    await labelBecomes('a', NODE_GROUP_LABEL, 'first');
    await client.create(NODE_GROUPS, group('second', { nodes: ['a'] }));
    await readyBecomes(
      NODE_GROUPS,
      'second',
      /^NodesRefused: Nodes are owned by another pool: a \(in first\)$/,
    );
    expect((await client.get(NODE_GROUPS, { name: 'second' })).status?.nodeStatuses).toMatchObject([
      { selectionStatus: 'Failed', selectionStatusReason: 'node a has already belonged to NodeGroup first' },
    ]);
    await client.create(POD_DISRUPTION_BUDGETS, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'none', namespace: 'default' },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'x' } } },
    });
    await makePod('kept', 'a', { nodeSelector: { [NODE_GROUP_LABEL]: 'first' } }, { labels: { app: 'x' } });
    const kept = { name: 'kept', namespace: 'default' };
    await client.patch(PODS, { ...kept, subresource: 'status' }, 'merge', { status: { phase: 'Running' } });
    await client.delete(NODE_GROUPS, { name: 'first' });
    await isGone(NODE_GROUPS, 'first');
    await labelBecomes('a', NODE_GROUP_LABEL, 'second');
    expect(
      (await client.get(PODS, { name: 'kept', namespace: 'default' })).metadata.deletionTimestamp,
    ).toBeUndefined();
  });

  it('removes only what it wrote', async () => {
    await makeNode('a', { site: 'x', [ZONE_LABEL]: 'set-by-cloud', team: 'ours' });
    await makeNode('b', { site: 'x' });
    await client.create(NODE_GROUPS, group('g', { matchLabels: { site: 'x' }, topologyEnabled: true }));
    await labelBecomes('b', ZONE_LABEL, 'g');
    await labelBecomes('a', NODE_GROUP_LABEL, 'g');
    await client.delete(NODE_GROUPS, { name: 'g' });
    await isGone(NODE_GROUPS, 'g');
    expect(await labelsOf('a')).toEqual({ site: 'x', [ZONE_LABEL]: 'set-by-cloud', team: 'ours' });
    expect(await labelsOf('b')).toEqual({ site: 'x' });
    expect(
      (await client.get(NODES, { name: 'b' })).metadata.annotations?.[WRITTEN_ANNOTATION],
    ).toBeUndefined();
  });

  it('applies labels, annotations and taints of a NodePool to its nodes, and follows changes', async () => {
    await makeNode('a', { [NODE_POOL_LABEL]: 'p', team: 'theirs' });
    await client.patch(NODES, { name: 'a' }, 'merge', {
      spec: { taints: [{ key: 'own', effect: 'NoSchedule' }] },
    });
    await client.create(
      NODE_POOLS,
      pool('p', {
        labels: { region: 'east', team: 'pool' },
        annotations: { note: 'hello' },
        taints: [{ key: 'edge', value: 'yes', effect: 'NoSchedule' }],
      }),
    );
    await labelBecomes('a', 'region', 'east');
    const node = await client.get(NODES, { name: 'a' });
    expect(node.metadata.labels?.team).toBe('theirs');
    expect(node.metadata.annotations?.note).toBe('hello');
    expect(node.spec?.taints).toEqual([
      { key: 'own', effect: 'NoSchedule' },
      { key: 'edge', value: 'yes', effect: 'NoSchedule' },
    ]);
    await client.patch(NODE_POOLS, { name: 'p' }, 'merge', {
      spec: { labels: { region: 'west' }, annotations: null, taints: null },
    });
    await labelBecomes('a', 'region', 'west');
    expect((await client.get(NODES, { name: 'a' })).spec?.taints).toEqual([
      { key: 'own', effect: 'NoSchedule' },
    ]);
    // Drift is corrected, and leaving the pool removes the attributes.
    await label('a', { region: null });
    await labelBecomes('a', 'region', 'west');
    await label('a', { [NODE_POOL_LABEL]: null });
    await labelBecomes('a', 'region', undefined);
    expect(await labelsOf('a')).toEqual({ team: 'theirs' });
  });

  it('follows desired-nodepool', async () => {
    await makeNode('a', { [DESIRED_NODE_POOL_LABEL]: 'p' });
    await client.create(NODE_POOLS, pool('p'));
    await client.create(NODE_POOLS, pool('q'));
    await labelBecomes('a', NODE_POOL_LABEL, 'p');
    await label('a', { [DESIRED_NODE_POOL_LABEL]: 'q' });
    await labelBecomes('a', NODE_POOL_LABEL, 'q');
    await label('a', { [DESIRED_NODE_POOL_LABEL]: null });
    await labelBecomes('a', NODE_POOL_LABEL, undefined);
    await readyBecomes(NODE_POOLS, 'q', /^NoNodes/);
  });

  it('keeps a deleted NodePool until its nodes have left, and lists them', async () => {
    await makeNode('a', { [NODE_POOL_LABEL]: 'p' });
    await client.create(NODE_POOLS, pool('p'));
    await readyBecomes(NODE_POOLS, 'p', /^NodesReady/);
    await client.delete(NODE_POOLS, { name: 'p' });
    await readyBecomes(NODE_POOLS, 'p', /^Deleting: the pool still has nodes: a; remove the label/);
    await label('a', { [NODE_POOL_LABEL]: null });
    await isGone(NODE_POOLS, 'p');
  });

  it('writes nothing on a heartbeat, and one status when a node is no longer ready', async () => {
    await makeNode('a', { site: 'x' });
    await client.create(NODE_GROUPS, group('g', { matchLabels: { site: 'x' } }));
    await readyBecomes(NODE_GROUPS, 'g', /^NodesReady/);
    const beat = (status: string, at: string) =>
      client.patch(NODES, { name: 'a', subresource: 'status' }, 'merge', {
        status: { conditions: [{ type: 'Ready', status, lastHeartbeatTime: at }] },
      });
    /** Waits until every handler has run, plus one round trip, so that every reconcile has started. */
    const isSeen = async (at: string): Promise<void> => {
      await eventually(
        () => nodes.cache.get('a')?.status?.conditions?.[0]?.lastHeartbeatTime === at || undefined,
      );
      await client.get(NODES, { name: 'a' });
    };
    await beat('True', '2026-01-01T00:00:00Z');
    await isSeen('2026-01-01T00:00:00Z');
    const before = await reconciles();
    await beat('True', '2026-01-01T00:00:10Z');
    await isSeen('2026-01-01T00:00:10Z');
    expect(await reconciles()).toBe(before);
    await beat('False', '2026-01-01T00:00:20Z');
    await readyBecomes(NODE_GROUPS, 'g', /^NodesNotReady/);
  });
});
