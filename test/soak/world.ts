/** A cluster with the story, what was asked of it so far, and the ways to look at it. */
import { writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { KubeClient, loadConfig, PODS, type Pod, SERVICES } from '@tidegate/kube';
import { L7_ROUTERS, YURT_INGRESSES, type YurtIngress } from '../../packages/tidegate/src/api/index.ts';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import {
  type ClusterReport,
  callSupervisor,
  StateDirectory,
} from '../../packages/tidegate/src/supervisor/index.ts';
import { Cluster, eventually } from '../support/cluster.ts';
import { type DataPlane, EMBEDDED_DATA_PLANE } from '../support/data-plane.ts';
import { Excuses } from './excuses.ts';
import { Processes } from './processes.ts';
import type { Route } from './routes.ts';
import { Sites } from './sites.ts';

/** Some two heartbeats: short, so that what happens when a node counts as lost happens often. */
const NODE_GRACE_S = 25;
const MOST_GONE = 10;
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
  /** What was asked for: pods of the application by pool, routers in each pool, routes by the name of their Ingress. */
  readonly replicas = new Map<string, number>();
  routers = 1;
  readonly routes = new Map<string, Route>();
  /** Routes that must not be served any more, the last ones. */
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
    const { nodes } = await report(cluster);
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
    const world = new World(cluster, client, dataPlane, placed, doors);
    for (const { name, replicas } of STORY_REPLICAS) world.replicas.set(name, replicas);
    return world;
  }

  portsOf(pool: string): Ports {
    const ports = this.#doors.get(pool);
    if (ports === undefined) throw new Error(`${pool} has no front door`);
    return ports;
  }

  /** Resolves when the API server answers: operations ask it for what they do. */
  async untilReachable(): Promise<void> {
    await eventually('the API server answers', () => this.client.list(L7_ROUTERS));
  }

  /** For names that were never there. */
  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  forget(route: Route): void {
    this.gone.push(route);
    if (this.gone.length > MOST_GONE) this.gone.shift();
  }

  /** What `tidegate status` tells. */
  report(): Promise<ClusterReport> {
    return report(this.cluster);
  }

  async yurtIngress(): Promise<YurtIngress> {
    return this.client.get(YURT_INGRESSES, { name: 'cities' });
  }

  /** The pods of the application on the nodes that a pool has now. */
  async appPods(pool: string): Promise<Pod[]> {
    const { items } = await this.client.list(PODS, { namespace: 'default', labelSelector: 'app=nginx' });
    return items.filter((pod) => this.#isIn(pool, pod));
  }

  /** Without those that count as lost, or soon will: their node is cut off from others of the pool. */
  async countedPods(pool: string): Promise<Pod[]> {
    const pods = await this.appPods(pool);
    if (this.sites.linkOf(pool) !== 'partly') return pods;
    const linked = this.sites.of(pool).filter(({ cutAt }) => cutAt === undefined);
    return pods.filter(({ spec }) => linked.some(({ name }) => name === spec?.nodeName));
  }

  /** Those that stay; the others serve a few requests more, over connections that they have. */
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

  /** Those that answer by themselves, whatever the API server knows of them. */
  async answering(pods: readonly Pod[]): Promise<Pod[]> {
    const answers = await Promise.all(pods.map(({ status }) => answers8080(status?.podIP)));
    return pods.filter((_, i) => answers[i]);
  }

  /** Ends `tidegate up` the hard way, and starts it again. */
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

async function report({ state }: Cluster): Promise<ClusterReport> {
  const answer = await callSupervisor(new StateDirectory(state), { command: 'status' });
  if (answer === undefined) throw new Error('the cluster does not run');
  return answer.result as ClusterReport;
}

const answers8080 = (ip: string | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get({ host: ip, port: 8080, agent: false, timeout: 1000 }, (response) => {
      response.resume();
      response.on('close', () => resolve(response.statusCode === 200));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
