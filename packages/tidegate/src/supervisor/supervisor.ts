import { setMaxListeners } from 'node:events';
import { childController, KubeClient, loadConfig } from '@tidegate/kube';
import type { ChildSpec } from './child.ts';
import { Children } from './children.ts';
import {
  apiserverSpec,
  controllersSpec,
  hubServerOf,
  hubSpec,
  managerSpec,
  nodeSpec,
  type ProgramOptions,
  serverOf,
} from './commands.ts';
import { type NodeCredentials, nodeCredentials } from './credentials.ts';
import { DiskWatch } from './disk-watch.ts';
import { SupervisorError } from './error.ts';
import { type FrontDoor, frontDoors, readFrontDoors, sampleRequest, untilOpen } from './front-doors.ts';
import { installRbac } from './install.ts';
import { hubOf } from './layout.ts';
import { isFree, Links } from './links.ts';
import { rotateLogs } from './logs.ts';
import { nodeReports } from './node-reports.ts';
import { NodeWatch } from './node-watch.ts';
import { readObjects } from './objects.ts';
import { poolReports } from './pools.ts';
import { ProxyToken } from './proxy-token.ts';
import { type PruneOptions, pruneLayout } from './prune.ts';
import { type ClusterReport, memoryOf } from './report.ts';
import { queryRouters } from './routers.ts';
import { routeReports } from './routes.ts';
import { ServingApprover } from './serving-approver.ts';
import { addressOf, type NodeState, writeCluster } from './state.ts';
import { createStory } from './story.ts';
import { resolveTargets } from './targets.ts';
import { writeRefusal } from './write-refusal.ts';

export interface SupervisorOptions extends ProgramOptions, Omit<PruneOptions, 'signal'> {
  /** The file with the RBAC objects of hubs. */
  hubManifests: string;
  /** The directory with the example manifests. */
  storyManifests: string;
}

/** Long enough for a slow machine. `up` then reports what is not ready and keeps running. */
const READY_TIMEOUT_MS = 60_000;

/** In the order in which they start. */
const SERVERS = ['apiserver', 'controllers', 'manager'];

/** Runs the processes of a cluster and the links between them. The caller holds the lock of the state directory. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #links: Links;
  readonly #disk: DiskWatch;
  readonly #children: Children;
  readonly #since = new Date();
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<(line: string) => void>();
  #phase: ClusterReport['phase'] = 'starting';
  #client: KubeClient | undefined;
  #watch: NodeWatch | undefined;
  #approver: ServingApprover | undefined;
  #proxyToken: ProxyToken | undefined;
  #starting: Promise<string[]> = Promise.resolve([]);
  #stopped: Promise<void> | undefined;
  #changingLinks: Promise<unknown> = Promise.resolve();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#links = new Links(options.cluster);
    this.#disk = new DiskWatch(options.state.path, (line) => this.#report(line));
    this.#children = new Children(options.state.childrenFile, (line) => this.#report(line));
    this.#listeners.add(options.report);
    // Every child and every request adds a listener.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Aborted as soon as the cluster is asked to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * Starts links, API server and credentials; then controllers, manager and nodes in parallel, each node after its
   * hub. A new cluster gets the example objects meanwhile. Resolves to the names of the nodes, or otherwise the
   * front doors, that are not ready after a minute. On failure, everything is stopped again.
   */
  async start(): Promise<string[]> {
    try {
      this.#starting = this.#startAll();
      return await this.#starting;
    } catch (error) {
      const stopped = this.stopping.aborted;
      await this.stop();
      if (stopped) return [];
      throw error;
    }
  }

  /** Each step waits for the one before, except where `Promise.all` runs independent parts in parallel. */
  async #startAll(): Promise<string[]> {
    this.#disk.run();
    await rotateLogs(this.#options.state.logs);
    await this.#checkPort();
    await this.#links.open();
    this.#save();
    const client = await this.#startApiServer();
    const before = await this.#expectedFrontDoors(client);
    await pruneLayout(client, { ...this.#options, signal: this.stopping });
    const controllers = this.#start(controllersSpec(this.#options));
    const manager = this.#start(managerSpec(this.#options));
    const [story] = await Promise.all([
      manager.then(() => this.#report('manager is ready')).then(() => this.#createStory(client)),
      controllers.then(() => this.#report('controllers are ready')),
      this.#startNodes(client),
    ]);
    const notReady = await this.#untilNodesReady();
    if (notReady.length === 0)
      notReady.push(...(await this.#untilFrontDoorsOpen(client, [...before, ...story])));
    this.stopping.throwIfAborted();
    this.#phase = 'running';
    return notReady;
  }

  /** Front doors that were ready at the last stop, and whose nodes all start with a link to the API server. */
  async #expectedFrontDoors(client: KubeClient): Promise<string[]> {
    const { cluster } = this.#options;
    const addresses = cluster.nodes.filter(({ cut }) => !cut).map((node) => addressOf(cluster, node));
    const doors = await readFrontDoors(client);
    return doors
      .filter((door) => door.ready === 'True' && sampleRequest(door) !== undefined)
      .filter(({ urls }) => urls.every((url) => addresses.includes(new URL(url).hostname)))
      .map(({ name }) => name);
  }

  /** Returns the names of the front doors in the example. */
  async #createStory(client: KubeClient): Promise<string[]> {
    const { cluster, storyManifests } = this.#options;
    if (cluster.awaitsStory !== true) return [];
    const doors = await createStory(client, storyManifests, this.stopping);
    delete cluster.awaitsStory;
    this.#save();
    this.#report(
      'created the example: two pools, an application, and a front door with an Ingress for each pool',
    );
    return doors;
  }

  /**
   * Stops nodes with their pods, hubs, manager, controllers, API server, links, in this order. Calls after the first
   * wait for the same stop.
   */
  stop(progress?: (line: string) => void): Promise<void> {
    if (progress !== undefined) this.#listeners.add(progress);
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  /** Kills the children immediately. Running pods remain and are adopted by the next start. */
  kill(): void {
    this.#children.kill();
  }

  /** Assembles the report. Without the API server, it contains only what the supervisor itself knows. */
  async status(): Promise<ClusterReport> {
    const { state, cluster } = this.#options;
    const seen = this.#client === undefined ? undefined : await readObjects(this.#client);
    const nodes = nodeReports(cluster, this.#watch?.nodes ?? new Map(), seen?.pods);
    const routes = routeReports(seen?.ingresses ?? [], seen?.routers ?? []);
    const doors = frontDoors(seen?.routers ?? [], routes);
    const order = [...SERVERS, ...cluster.nodes.flatMap(({ name }) => [hubOf(name), name])];
    return {
      phase: this.#phase,
      stateDirectory: state.path,
      kubeconfig: state.kubeconfig,
      pid: process.pid,
      since: this.#since.toISOString(),
      api: { url: `https://127.0.0.1:${cluster.port}`, reachable: seen !== undefined },
      warnings: await this.#warnings(),
      processes: [
        {
          name: 'supervisor',
          state: 'running',
          pid: process.pid,
          restarts: 0,
          memoryBytes: await memoryOf(process.pid),
        },
        ...(await this.#children.reports(order)),
      ],
      nodes,
      pools: poolReports(nodes, seen),
      frontDoors: await Promise.all(
        doors.map(async (door) => ({ ...door, routers: await queryRouters(door.name, seen?.pods ?? []) })),
      ),
      routes,
    };
  }

  async #warnings(): Promise<string[]> {
    const disk = await this.#disk.warning();
    const refusal = this.#client === undefined ? undefined : await writeRefusal(this.#client);
    return [disk, refusal].flatMap((warning) => warning ?? []);
  }

  /** Cuts or mends the links of the target nodes; returns the names of the nodes whose link changed. */
  changeLinks(action: 'cut' | 'mend', targets: readonly string[] | 'all'): Promise<string[]> {
    const change = this.#changingLinks.then(async () => {
      const changed = this.#nodesFor(targets).filter((node) => node.cut !== (action === 'cut'));
      try {
        for (const node of changed) await this.#links[action](node);
      } finally {
        this.#save();
      }
      const names = changed.map(({ name }) => name);
      if (names.length > 0)
        this.#report(`link ${action === 'cut' ? 'cut' : 'restored'}: ${names.join(', ')}`);
      return names;
    });
    // The caller receives a failure; the next change only waits for this one to finish.
    this.#changingLinks = change.catch(() => undefined);
    return change;
  }

  /** Labels from the API take precedence over those of the layout, because users may have changed them. */
  #nodesFor(targets: readonly string[] | 'all'): NodeState[] {
    const { nodes } = this.#options.cluster;
    if (targets === 'all') return nodes;
    const seen = this.#watch?.nodes;
    const known = nodes.map(({ name, labels }) => ({
      name,
      labels: { ...labels, ...seen?.get(name)?.metadata.labels },
    }));
    const names = resolveTargets(targets, known);
    return nodes.filter(({ name }) => names.includes(name));
  }

  async #checkPort(): Promise<void> {
    const { port } = this.#options.cluster;
    if (await isFree({ host: '127.0.0.1', port })) return;
    throw new SupervisorError(
      `port ${port} on 127.0.0.1 is already in use; choose another with --port (0 selects a free port)`,
    );
  }

  async #startApiServer(): Promise<KubeClient> {
    const { state, cluster } = this.#options;
    await this.#start(apiserverSpec(this.#options));
    this.stopping.throwIfAborted();
    const config = await loadConfig({ path: state.kubeconfig, env: {} });
    const client = new KubeClient(config, { userAgent: 'tidegate-supervisor' });
    this.#client = client;
    await client.text('/readyz', { signal: this.stopping });
    this.#report(`API server is ready at ${config.server}`);
    this.#watch = new NodeWatch(client);
    this.#watch.run();
    const known = cluster.nodes.map((node) => ({ name: node.name, address: addressOf(cluster, node) }));
    this.#approver = new ServingApprover(client, known, (line) => this.#report(line));
    await this.#approver.run();
    return client;
  }

  /** Credentials come first, because a hub and an agent cannot start without them. */
  async #startNodes(client: KubeClient): Promise<void> {
    const { state, cluster, hubManifests } = this.#options;
    await installRbac(client, hubManifests, this.stopping);
    this.#proxyToken = new ProxyToken(client, state.proxyToken, (line) => this.#report(line));
    const [credentials] = await Promise.all([
      Promise.all(cluster.nodes.map((node) => this.#credentialsOf(node, client))),
      this.#proxyToken.run(),
    ]);
    if (cluster.nodes.length > 0) this.#report(`issued credentials for ${cluster.nodes.length} nodes`);
    const started = cluster.nodes.map((node, i) => {
      const starting = this.#startNode(node, credentials[i]!);
      // A node whose link is cut runs from its hub's cache. If it has never run before, it waits for the link; the
      // start does not wait for it.
      return node.cut ? this.#withoutWaiting(starting) : starting;
    });
    await Promise.all(started);
  }

  #credentialsOf(node: NodeState, client: KubeClient): Promise<NodeCredentials> {
    const { state, cluster } = this.#options;
    return nodeCredentials({
      client,
      node: node.name,
      directory: state.node(node.name),
      server: serverOf(node),
      hub: hubServerOf(cluster, node),
      proxyTokenFile: state.proxyToken,
      signal: this.stopping,
    });
  }

  async #startNode(node: NodeState, credentials: NodeCredentials): Promise<void> {
    await this.#start(hubSpec(this.#options, node, credentials));
    await this.#start(nodeSpec(this.#options, node, credentials));
  }

  #withoutWaiting(starting: Promise<void>): void {
    starting.catch((error: Error) => {
      if (!this.stopping.aborted) this.#report(error.message);
    });
  }

  #untilNodesReady(): Promise<string[]> {
    const names = this.#options.cluster.nodes.filter(({ cut }) => !cut).map(({ name }) => name);
    return this.#waitFor(names, async (onReady, signal) => {
      const onNode = (name: string): void => onReady(name, `node ${name} is ready`);
      await this.#watch?.untilReady(names, onNode, signal);
    });
  }

  #untilFrontDoorsOpen(client: KubeClient, names: readonly string[]): Promise<string[]> {
    return this.#waitFor(names, (onReady, signal) => {
      const onFrontDoor = ({ name, urls }: FrontDoor): void =>
        onReady(name, `front door ${name} is ready at ${urls.join(', ')}`);
      return untilOpen(client, names, onFrontDoor, signal);
    });
  }

  /** Waits until everything named is ready or the timeout passes; resolves to the names that are not ready. */
  async #waitFor(
    names: readonly string[],
    wait: (onReady: (name: string, line: string) => void, signal: AbortSignal) => Promise<void>,
  ): Promise<string[]> {
    const waiting = new Set(names);
    const { controller, release } = childController(this.stopping);
    const timer = setTimeout(() => controller.abort(), READY_TIMEOUT_MS);
    const onReady = (name: string, line: string): void => {
      waiting.delete(name);
      this.#report(line);
    };
    try {
      await wait(onReady, controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      release();
    }
    return [...waiting];
  }

  #start(spec: ChildSpec): Promise<void> {
    return this.#children.start(spec, this.stopping);
  }

  /** Nodes stop first, so that their pods end while hubs and the API server can still record it. */
  async #stopAll(): Promise<void> {
    this.#phase = 'stopping';
    this.#disk.close();
    this.#stopping.abort(new SupervisorError('stopped'));
    // A start in progress aborts at its next step; what it has opened by then is closed below.
    await this.#starting.catch(() => undefined);
    const { nodes } = this.#options.cluster;
    await this.#children.stop(nodes.map(({ name }) => name));
    await this.#children.stop(nodes.map(({ name }) => hubOf(name)));
    await Promise.all([this.#watch?.close(), this.#approver?.close(), this.#proxyToken?.close()]);
    // The API server waits for open connections when it stops, including the supervisor's own.
    await this.#client?.close();
    for (const server of SERVERS.toReversed()) await this.#children.stop([server]);
    await this.#links.close();
    await this.#children.close();
    this.#phase = 'stopped';
  }

  #save(): void {
    writeCluster(this.#options.state, this.#options.cluster);
  }

  #report(line: string): void {
    for (const listener of this.#listeners) listener(line);
  }
}
