/** Pods on unreachable nodes, with the real node controllers and the admission webhook of the manager. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runControllers } from '@tidegate/envtest/controllers';
import {
  KubeClient,
  type KubeObject,
  LEASES,
  type Lease,
  loadConfig,
  Metrics,
  NODES,
  PODS,
  silentLogger,
} from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NODE_POOL_LABEL, NODE_POOLS } from '../../packages/tidegate/src/api/index.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';
import { type Manager, startManager } from './support.ts';

const LEASE_SECONDS = 40;
const STEP_SECONDS = 4;
const LEASE_NAMESPACE = 'kube-node-lease';

let server: Embedded;
let client: KubeClient;
let manager: Manager;
let controllers: Promise<void>;
const stop = new AbortController();
let time: Time;

beforeAll(async () => {
  server = await startEmbedded();
  client = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
  manager = await startManager(client);
  time = new Time();
  controllers = runControllers({
    client,
    clusterCidr: '127.100.0.0/16',
    nodeGraceMs: LEASE_SECONDS * 1000,
    log: silentLogger,
    metrics: new Metrics(),
    signal: stop.signal,
    clock: time.clock,
  });
  for (const name of ['paris', 'rome'])
    await client.create(NODE_POOLS, {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name },
    });
  for (const [pool, node] of [
    ['paris', 'p1'],
    ['paris', 'p2'],
    ['rome', 'r1'],
    ['rome', 'r2'],
  ] as const)
    await join(node, pool);
});
afterAll(async () => {
  stop.abort();
  await controllers;
  await time.stop();
  await manager.stop();
  await client.close();
  await server.stop();
});

/** Creates a node that renews its lease, and a ready pod with the same name. */
async function join(name: string, pool: string): Promise<void> {
  await client.create(NODES, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { [NODE_POOL_LABEL]: pool } },
  });
  await time.report(name);
  await setReady(NODES, { name });
  await client.create(PODS, pod(name));
  await setReady(PODS, { namespace: 'default', name });
}

/**
 * The time of the node controllers. It passes only after all nodes that still report have renewed their leases. So a machine
 * that is busy for longer than a lease makes no node unreachable.
 */
class Time {
  readonly clock = new VirtualClock(Date.now());
  readonly #reporting = new Set<string>();
  readonly #passing: Promise<void>;
  #rounds = 0;
  #stopped = false;

  constructor() {
    this.#passing = this.#run();
  }

  async report(node: string): Promise<void> {
    await client.create(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: node, namespace: LEASE_NAMESPACE },
      spec: this.#lease(node),
    });
    this.#reporting.add(node);
  }

  fallSilent(...nodes: string[]): void {
    for (const node of nodes) this.#reporting.delete(node);
  }

  /** Waits until this many seconds have passed for the controllers. */
  async pass(seconds: number): Promise<void> {
    const end = this.#rounds + Math.ceil(seconds / STEP_SECONDS);
    await eventually(async () => this.#rounds >= end);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#passing;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const renewals = [...this.#reporting].map((name) =>
        client.patch(LEASES, { namespace: LEASE_NAMESPACE, name }, 'merge', { spec: this.#lease(name) }),
      );
      await Promise.all(renewals);
      // The informers of the controllers receive the renewals meanwhile.
      await sleep(100);
      await this.clock.advance(STEP_SECONDS * 1000);
      this.#rounds++;
    }
  }

  #lease(node: string): Lease['spec'] {
    return {
      holderIdentity: node,
      leaseDurationSeconds: LEASE_SECONDS,
      renewTime: new Date(this.clock.now()).toISOString().replace('Z', '000Z'),
    };
  }
}

const pod = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { nodeName: name, containers: [{ name: 'web', image: 'web' }] },
});

const setReady = (resource: typeof NODES | typeof PODS, target: { namespace?: string; name: string }) =>
  client.patch(resource as typeof NODES, { ...target, subresource: 'status' }, 'strategic', {
    status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }] },
  });

const readyOf = async (resource: typeof NODES | typeof PODS, name: string): Promise<string | undefined> => {
  const target = resource === PODS ? { namespace: 'default', name } : { name };
  const { status } = await client.get(resource as typeof NODES, target);
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
};

describe('an unreachable node', () => {
  test('has a pod that is not ready, if other nodes of its pool still report', async () => {
    time.fallSilent('r1');
    await eventually(async () => (await readyOf(PODS, 'r1')) === 'False');
    expect(await readyOf(NODES, 'r1')).toBe('Unknown');
    expect(await readyOf(PODS, 'r2')).toBe('True');
  });

  test('keeps its pod ready, if its whole pool is unreachable', async () => {
    time.fallSilent('p1', 'p2');
    for (const node of ['p1', 'p2']) await eventually(async () => (await readyOf(NODES, node)) === 'Unknown');
    const events = async (): Promise<string> =>
      JSON.stringify(
        (await client.list({ group: '', version: 'v1', resource: 'events', namespaced: true })).items,
      );
    await eventually(async () => (await events()).includes('Node p2 status is now: NodeNotReady'));
    // The node controller retries every quarter of the grace period.
    await time.pass(LEASE_SECONDS / 2);
    expect([await readyOf(PODS, 'p1'), await readyOf(PODS, 'p2')]).toEqual(['True', 'True']);
  });

  test('does not keep a manager ready that the API server cannot reach', async () => {
    const target = { namespace: 'tidegate-system', name: 'manager' };
    const labels = { 'app.kubernetes.io/part-of': 'tidegate' };
    await client.create(PODS, { ...pod('p1'), metadata: { ...target, labels } });
    await setReady(PODS, target);
    const lost = { status: { conditions: [{ type: 'Ready', status: 'False' }] } };
    await client.patch(PODS, { ...target, subresource: 'status' }, 'strategic', lost);
    // The same change of another pod of the node is refused.
    await expect(
      client.patch(PODS, { namespace: 'default', name: 'p1', subresource: 'status' }, 'strategic', lost),
    ).rejects.toThrow('pods are left unchanged');
  });

  test('keeps its pod from being evicted, with a message that explains why', async () => {
    const patch = {
      status: {
        conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' }],
      },
    };
    const evict = (name: string): Promise<unknown> =>
      client.patch(PODS, { namespace: 'default', name, subresource: 'status' }, 'strategic', patch);
    await expect(evict('p1')).rejects.toThrow(
      /node p1 and all other nodes in pool paris are unreachable, last heard of at .*; pods are left unchanged until the pool reconnects$/,
    );
    await evict('r1');
  });

  test('loses its pods as usual when the autonomy of its pool ends', async () => {
    const limit = (autonomy: string): Promise<unknown> =>
      client.patch(NODE_POOLS, { name: 'paris' }, 'merge', { spec: { autonomy } });
    await expect(limit('on')).rejects.toThrow('spec.autonomy');
    expect(await readyOf(PODS, 'p1')).toBe('True');
    await limit('1s');
    for (const name of ['p1', 'p2']) await eventually(async () => (await readyOf(PODS, name)) === 'False');
  });
});
