/** A cluster with the story, what was requested of it so far, and ways to inspect it. */
import { writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { KubeClient, loadConfig, PODS, type Pod, SERVICES } from '@tidegate/kube';
import { L7_ROUTERS, YURT_INGRESSES, type YurtIngress } from '../../packages/tidegate/src/api/index.ts';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import type { ClusterReport } from '../../packages/tidegate/src/supervisor/index.ts';
import { Cluster, eventually } from '../support/cluster.ts';
import { type DataPlane, EMBEDDED_DATA_PLANE } from '../support/data-plane.ts';
import { ask } from '../support/load.ts';
import { STORY_HOST } from './callers.ts';
import { Excuses } from './excuses.ts';
import { Processes } from './processes.ts';
import type { Route } from './route.ts';
import { Sites } from './sites.ts';

/** About two heartbeats: short, so that nodes become NotReady often. */
const NODE_GRACE_S = 25;
const MAX_GONE = 10;
const ROUTER_NAMESPACE = 'ingress-nginx';

interface Ports {
  http: number;
  https: number;
}

export class World {
  cluster: Cluster;
  client: KubeClient;
  readonly dataPlane: DataPlane;
  readonly sites: Sites;
  readonly excuses = new Excuses();
  readonly processes: Processes;
  /** The requested state: pods of the application by pool, routers per pool, routes by the name of their Ingress. */
  readonly replicas = new Map<string, number>();
  routers = 1;
  readonly routes = new Map<string, Route>();
  /** The most recent routes that must no longer be served. */
  readonly gone: Route[] = [];
  readonly authority = new TestAuthority();
  #numbers = 0;
  readonly #doors: ReadonlyMap<string, Ports>;

  private constructor(
    cluster: Cluster,
    client: KubeClient,
    dataPlane: DataPlane,
    nodes: ConstructorParameters<typeof Sites>[0],
    doors: ReadonlyMap<string, Ports>,
  ) {
    this.cluster = cluster;
    this.client = client;
    this.dataPlane = dataPlane;
    this.sites = new Sites(nodes);
    this.#doors = doors;
    this.processes = new Processes(cluster);
  }

  static async open(directory: string, dataPlane: DataPlane): Promise<World> {
    if (dataPlane === 'embedded')
      await writeFile(join(directory, 'images.yaml'), JSON.stringify(EMBEDDED_DATA_PLANE));
    const { cluster, client } = await openCluster(directory);
    const { nodes } = await cluster.report();
    const { items: routers } = await client.list(L7_ROUTERS);
    const doors = new Map<string, Ports>();
    for (const { metadata, spec } of routers) {
      const service = await client.get(SERVICES, {
        namespace: ROUTER_NAMESPACE,
        name: `tidegate-router-${metadata.name}`,
      });
      const [http, https] = service.spec?.ports?.map(({ nodePort }) => nodePort ?? 0) ?? [];
      doors.set(spec.pool ?? '', { http: http ?? 0, https: https ?? 0 });
    }
    const placed = nodes.map(({ name, address, labels }) => ({
      name,
      address,
      pool: labels['apps.kubeedge.io/belonging-to'] ?? '',
    }));
    // `tidegate up` waits for the nodes that run the routers. The node ports of other nodes can open a moment later.
    for (const { pool, address } of placed) {
      const url = `http://${address}:${doors.get(pool)?.http}/`;
      await eventually(`${url} is answered`, () => ask(url, undefined, { host: STORY_HOST }));
    }
    const world = new World(cluster, client, dataPlane, placed, doors);
    for (const { name, replicas } of STORY_REPLICAS) world.replicas.set(name, replicas);
    return world;
  }

  portsOf(pool: string): Ports {
    const ports = this.#doors.get(pool);
    if (ports === undefined) throw new Error(`${pool} has no front door`);
    return ports;
  }

  /** Resolves when the API server responds, because operations need it. */
  async untilReachable(): Promise<void> {
    await eventually('the API server responds', () => this.client.list(L7_ROUTERS));
  }

  /** For names that were never used before. */
  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  forget(route: Route): void {
    this.gone.push(route);
    if (this.gone.length > MAX_GONE) this.gone.shift();
  }

  /** The report of `tidegate status`. */
  report(): Promise<ClusterReport> {
    return this.cluster.report();
  }

  async yurtIngress(): Promise<YurtIngress> {
    return this.client.get(YURT_INGRESSES, { name: 'cities' });
  }

  /** The pods of the application on the current nodes of a pool. */
  async appPods(pool: string): Promise<Pod[]> {
    const { items } = await this.client.list(PODS, { namespace: 'default', labelSelector: 'app=nginx' });
    return items.filter((pod) => this.#isIn(pool, pod));
  }

  /**
   * Without pods that are, or soon will be, considered lost because their node is cut off from the rest of the pool.
   */
  async countedPods(pool: string): Promise<Pod[]> {
    const pods = await this.appPods(pool);
    if (this.sites.linkOf(pool) !== 'partial') return pods;
    const linked = this.sites.of(pool).filter(({ cutAt }) => cutAt === undefined);
    return pods.filter(({ spec }) => linked.some(({ name }) => name === spec?.nodeName));
  }

  /** Without terminating pods, which only serve existing connections. */
  async routerPods(pool: string): Promise<Pod[]> {
    return (await this.allRouterPods(pool)).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  }

  async allRouterPods(pool: string): Promise<Pod[]> {
    const labelSelector = `networking.tidegate.io/router=${pool}`;
    const { items } = await this.client.list(PODS, { namespace: ROUTER_NAMESPACE, labelSelector });
    return items.filter(({ spec }) => spec?.nodeName !== undefined);
  }

  /** The pods that respond when asked directly, regardless of their status in the API. */
  async answering(pods: readonly Pod[]): Promise<Pod[]> {
    const answers = await Promise.all(
      pods.map(async (pod) => respondsAt8080(await this.processes.addressOf(pod))),
    );
    return pods.filter((_, i) => answers[i]);
  }

  /** Kills `tidegate up` with SIGKILL and starts it again. */
  async killAndRestart(): Promise<void> {
    await this.cluster.up.kill('SIGKILL');
    await this.client.close();
    const { cluster, client } = await openCluster(this.cluster.state);
    this.cluster = cluster;
    this.client = client;
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.cluster.up.kill('SIGTERM');
  }

  #isIn(pool: string, { spec, metadata }: Pod): boolean {
    if (metadata.deletionTimestamp !== undefined) return false;
    return this.sites.of(pool).some(({ name }) => name === spec?.nodeName);
  }
}

const STORY_REPLICAS = [
  { name: 'hangzhou', replicas: 2 },
  { name: 'beijing', replicas: 3 },
];

async function openCluster(directory: string): Promise<{ cluster: Cluster; client: KubeClient }> {
  const cluster = await Cluster.open(
    directory,
    '--node-monitor-grace-period',
    `${NODE_GRACE_S}s`,
    '--log-level',
    'info',
  );
  const config = await loadConfig({ path: join(directory, 'kubeconfig'), env: {} });
  return { cluster, client: new KubeClient(config) };
}

const respondsAt8080 = (ip: string | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    if (ip === undefined) {
      resolve(false);
      return;
    }
    const request = get({ host: ip, port: 8080, agent: false, timeout: 1000 }, (response) => {
      response.resume();
      response.on('close', () => resolve(response.statusCode === 200));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
