/** A cluster with the controllers of front doors. The tests write the status of routers, as the provisioner would. */
import { setMaxListeners } from 'node:events';
import {
  EventRecorder,
  getCondition,
  INGRESS_CLASSES,
  Informers,
  type IngressClass,
  isNotFound,
  type KubeClient,
  type KubeObject,
  Metrics,
  NODES,
  type Node,
  type Resource,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import {
  L7_ROUTERS,
  type L7Router,
  NODE_POOL_LABEL,
  NODE_POOLS,
  YURT_INGRESSES,
  type YurtIngress,
  type YurtIngressSpec,
} from '../../packages/tidegate/src/api/index.ts';
import { followMembership, poolControllers } from '../../packages/tidegate/src/pools/index.ts';
import { yurtIngressControllers } from '../../packages/tidegate/src/yurtingress/index.ts';
import { eventually } from '../support/patience.ts';

export const DEFAULT_IMAGE = 'tidegate:test';
export const INGRESS_NGINX_IMAGE = 'ingress-nginx/controller:v1.11.2';

const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };

/** The two objects of a front door. */
export interface Door {
  router: L7Router;
  ingressClass: IngressClass;
}

/** Creates a pool with one node. */
export async function makePool(client: KubeClient, name: string, status?: Node['status']): Promise<void> {
  await client.create(NODE_POOLS, {
    apiVersion: 'apps.openyurt.io/v1beta2',
    kind: 'NodePool',
    metadata: { name },
  });
  await client.create(NODES, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `${name}-1`, labels: { [NODE_POOL_LABEL]: name } },
    ...(status !== undefined && { status }),
  });
}

export class World {
  readonly client: KubeClient;
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(client: KubeClient) {
    this.client = client;
  }

  async start(): Promise<void> {
    const { client } = this;
    this.#stop = new AbortController();
    setMaxListeners(0, this.#stop.signal);
    const informers = new Informers(client);
    const { membership, synced } = followMembership(informers);
    const recorder = new EventRecorder(client, { component: 'tidegate-yurtingress' });
    const context = {
      client,
      informers,
      membership,
      recorder,
      metrics: new Metrics(),
      log: silentLogger,
      clock: systemClock,
      routerImage: DEFAULT_IMAGE,
    };
    const { signal } = this.#stop;
    const following = informers.run(signal);
    await synced;
    const controllers = [...poolControllers(context), ...yurtIngressControllers(context)];
    this.#running = Promise.all([following, ...controllers.map((each) => each.run(signal))]).then(() =>
      recorder.close(),
    );
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  makePool(name: string): Promise<void> {
    return makePool(this.client, name);
  }

  /** Deletes a pool and its node. */
  async deletePool(name: string): Promise<void> {
    const { client } = this;
    await client.delete(NODES, { name: `${name}-1` });
    await client.delete(NODE_POOLS, { name });
    await this.isGone(NODE_POOLS, name);
  }

  make(name: string, spec: YurtIngressSpec): Promise<YurtIngress> {
    return this.client.create<YurtIngress>(YURT_INGRESSES, {
      apiVersion: 'apps.openyurt.io/v1alpha1',
      kind: 'YurtIngress',
      metadata: { name },
      spec,
    });
  }

  change(name: string, spec: object): Promise<YurtIngress> {
    return this.client.patch(YURT_INGRESSES, { name }, 'merge', { spec });
  }

  async deleteYurtIngress(name: string): Promise<void> {
    await this.client.delete(YURT_INGRESSES, { name });
  }

  get(name: string): Promise<YurtIngress> {
    return this.client.get(YURT_INGRESSES, { name });
  }

  /** Waits until both objects of a front door exist. */
  door(pool: string): Promise<Door> {
    return eventually(async () => {
      const [router, ingressClass] = await Promise.all([
        this.find(L7_ROUTERS, pool),
        this.find(INGRESS_CLASSES, pool),
      ]);
      return router && ingressClass && { router, ingressClass };
    });
  }

  async find<T extends KubeObject>(resource: Resource<T>, name: string): Promise<T | undefined> {
    try {
      return await this.client.get(resource, { name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async isGone(resource: Resource, name: string): Promise<void> {
    await eventually(async () => (await this.find(resource, name)) === undefined);
  }

  /** Sets the condition Ready of a router, as its provisioner would. */
  async setReady(
    pool: string,
    status: 'True' | 'False',
    reason = 'Serving',
    message = 'all pods are ready',
  ): Promise<void> {
    const router = (await this.door(pool)).router;
    const condition = {
      type: 'Ready',
      status,
      reason,
      message,
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: router.metadata.generation,
    };
    const target = { name: pool, subresource: 'status' };
    await this.client.patch(L7_ROUTERS, target, 'merge', { status: { conditions: [condition] } });
  }

  /** The names of the ready pools, then `pool type reason` for each pool that is not ready. */
  async summary(name: string): Promise<string> {
    const { status } = await this.get(name);
    const { readypools = [], unreadypools = [] } = status?.conditions ?? {};
    return [
      ...readypools,
      ...unreadypools.map(({ pool, unreadyinfo: { type, reason } }) => `${pool.name} ${type} ${reason}`),
    ].join(', ');
  }

  becomes(name: string, summary: string): Promise<YurtIngress> {
    return eventually(async () => ((await this.summary(name)) === summary ? this.get(name) : undefined));
  }

  ready(object: YurtIngress): string {
    const condition = getCondition(object.status?.readiness, 'Ready');
    return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
  }

  async eventsOf(name: string): Promise<string[]> {
    const { items } = await this.client.list(EVENTS);
    return items
      .filter(({ involvedObject }) => (involvedObject as { name?: string }).name === name)
      .map(({ reason, message }) => `${reason}: ${message}`);
  }
}
