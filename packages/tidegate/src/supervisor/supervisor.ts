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
import { SupervisorError } from './error.ts';
import { type FrontDoor, frontDoors, readFrontDoors, tryOut, untilOpen } from './front-doors.ts';
import { installRights } from './install.ts';
import { hubOf } from './layout.ts';
import { isFree, Links } from './links.ts';
import { rotateLogs } from './logs.ts';
import { NodeWatch } from './node-watch.ts';
import { readObjects } from './objects.ts';
import { poolReports } from './pools.ts';
import { ProxyToken } from './proxy-token.ts';
import { type ClusterReport, memoryOf, nodeReports } from './report.ts';
import { askRouters } from './routers.ts';
import { routeReports } from './routes.ts';
import { ServingApprover } from './serving-approver.ts';
import { type SettleOptions, settleLayout } from './settle.ts';
import { addressOf, type NodeState, writeCluster } from './state.ts';
import { tellStory } from './story.ts';
import { resolveTargets } from './targets.ts';

export interface SupervisorOptions extends ProgramOptions, Omit<SettleOptions, 'signal'> {
  /** The file with the rights of hubs. */
  hubManifests: string;
  /** The directory with the example. */
  storyManifests: string;
}

/** Long enough for a slow machine; what is not ready by then will be when its trouble is over. */
const READY_PATIENCE_MS = 60_000;

/** In the order of their start. */
const SERVERS = ['apiserver', 'controllers', 'manager'];

/** Runs the processes of a cluster and the links between them. Whoever makes one holds the lock of its state. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #links: Links;
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
    this.#children = new Children(options.state.childrenFile, (line) => this.#report(line));
    this.#listeners.add(options.report);
    // Every child that starts, and every request, listens for the end.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Aborted as soon as somebody wants it to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * The order of the start: links, API server, credentials, then controllers, manager and nodes together, each node
   * behind its hub; a new cluster is told its story meanwhile. Resolves to the names of the nodes, or else of the front
   * doors, that are not ready yet after a minute. On failure, everything is stopped again.
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

  async #startAll(): Promise<string[]> {
    await rotateLogs(this.#options.state.logs);
    await this.#checkPort();
    await this.#links.open();
    this.#save();
    const client = await this.#startApiServer();
    const before = await this.#openDoors(client);
    await settleLayout(client, { ...this.#options, signal: this.stopping });
    const controllers = this.#start(controllersSpec(this.#options));
    const manager = this.#start(managerSpec(this.#options));
    const [story] = await Promise.all([
      manager.then(() => this.#report('manager')).then(() => this.#tellStory(client)),
      controllers.then(() => this.#report('controllers')),
      this.#startNodes(client),
    ]);
    const late = await this.#untilNodesReady();
    if (late.length === 0) late.push(...(await this.#untilDoorsOpen(client, [...before, ...story])));
    this.stopping.throwIfAborted();
    this.#phase = 'running';
    return late;
  }

  /** Those that were open at the last stop and should be again, since their nodes start and can reach the API server. */
  async #openDoors(client: KubeClient): Promise<string[]> {
    const { cluster } = this.#options;
    const addresses = cluster.nodes.filter(({ cut }) => !cut).map((node) => addressOf(cluster, node));
    const doors = await readFrontDoors(client);
    return doors
      .filter((door) => door.ready === 'True' && tryOut(door) !== undefined)
      .filter(({ urls }) => urls.every((url) => addresses.includes(new URL(url).hostname)))
      .map(({ name }) => name);
  }

  /** The names of the front doors in it. */
  async #tellStory(client: KubeClient): Promise<string[]> {
    const { cluster, storyManifests } = this.#options;
    if (cluster.awaitsStory !== true) return [];
    const doors = await tellStory(client, storyManifests, this.stopping);
    delete cluster.awaitsStory;
    this.#save();
    this.#report('the story: two pools, an application, a front door and an Ingress for each');
    return doors;
  }

  /** The way back: nodes with their pods, hubs, manager, controllers, API server, links. However often it is called, it happens once. */
  stop(progress?: (line: string) => void): Promise<void> {
    if (progress !== undefined) this.#listeners.add(progress);
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  /** Ends the children at once; pods that run are left to the next start. */
  kill(): void {
    this.#children.kill();
  }

  async status(): Promise<ClusterReport> {
    const { state, cluster } = this.#options;
    const seen = this.#client === undefined ? undefined : await readObjects(this.#client);
    const nodes = nodeReports(cluster, this.#watch?.nodes ?? new Map(), seen?.pods);
    const routes = routeReports(seen?.ingresses ?? [], seen?.routers ?? []);
    const doors = frontDoors(seen?.routers ?? [], routes);
    const order = [...SERVERS, ...cluster.nodes.flatMap(({ name }) => [hubOf(name), name])];
    return {
      phase: this.#phase,
      state: state.path,
      kubeconfig: state.kubeconfig,
      pid: process.pid,
      since: this.#since.toISOString(),
      api: { url: `https://127.0.0.1:${cluster.port}`, reachable: seen !== undefined },
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
        doors.map(async (door) => ({ ...door, routers: await askRouters(door.name, seen?.pods ?? []) })),
      ),
      routes,
    };
  }

  /** Cuts or mends the links of the nodes that are meant; returns the names of those it changed. */
  changeLinks(action: 'cut' | 'mend', targets: readonly string[] | 'all'): Promise<string[]> {
    const change = this.#changingLinks.then(async () => {
      const changed = this.#meant(targets).filter((node) => node.cut !== (action === 'cut'));
      try {
        for (const node of changed) await this.#links[action](node);
      } finally {
        this.#save();
      }
      const names = changed.map(({ name }) => name);
      if (names.length > 0) this.#report(`link ${action === 'cut' ? 'cut' : 'mended'}: ${names.join(', ')}`);
      return names;
    });
    // Who asked for it hears of a failure; the next one only waits for its turn.
    this.#changingLinks = change.catch(() => undefined);
    return change;
  }

  #meant(targets: readonly string[] | 'all'): NodeState[] {
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
      `port ${port} on 127.0.0.1 is in use by another program; choose another with --port (0 takes any free one)`,
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
    this.#report(`API server at ${config.server}`);
    this.#watch = new NodeWatch(client);
    this.#watch.run();
    const known = cluster.nodes.map((node) => ({ name: node.name, address: addressOf(cluster, node) }));
    this.#approver = new ServingApprover(client, known, (line) => this.#report(line));
    await this.#approver.run();
    return client;
  }

  async #startNodes(client: KubeClient): Promise<void> {
    const { state, cluster, hubManifests } = this.#options;
    await installRights(client, hubManifests, this.stopping);
    this.#proxyToken = new ProxyToken(client, state.proxyToken, (line) => this.#report(line));
    const [credentials] = await Promise.all([
      Promise.all(cluster.nodes.map((node) => this.#credentialsOf(node, client))),
      this.#proxyToken.run(),
    ]);
    if (cluster.nodes.length > 0) this.#report(`credentials of ${cluster.nodes.length} nodes`);
    const started = cluster.nodes.map((node, i) => {
      const starting = this.#startNode(node, credentials[i]!);
      // One whose link is cut runs with what its hub has stored; if it was never there before, it has to wait.
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
    return this.#patiently(names, async (onReady, signal) => {
      const tell = (name: string): void => onReady(name, `${name} is ready`);
      await this.#watch?.untilReady(names, tell, signal);
    });
  }

  #untilDoorsOpen(client: KubeClient, names: readonly string[]): Promise<string[]> {
    return this.#patiently(names, (onReady, signal) => {
      const tell = ({ name, urls }: FrontDoor): void =>
        onReady(name, `the front door of ${name} is open at ${urls.join(', ')}`);
      return untilOpen(client, names, tell, signal);
    });
  }

  /** Waits for all that have these names to be ready, but not for ever; resolves to those that are not. */
  async #patiently(
    names: readonly string[],
    wait: (onReady: (name: string, line: string) => void, signal: AbortSignal) => Promise<void>,
  ): Promise<string[]> {
    const waiting = new Set(names);
    const { controller, release } = childController(this.stopping);
    const timer = setTimeout(() => controller.abort(), READY_PATIENCE_MS);
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

  async #stopAll(): Promise<void> {
    this.#phase = 'stopping';
    this.#stopping.abort(new SupervisorError('stopped'));
    // A start under way gives up at its next step; what it has opened by then is closed below.
    await this.#starting.catch(() => undefined);
    const { nodes } = this.#options.cluster;
    await this.#children.stop(nodes.map(({ name }) => name));
    await this.#children.stop(nodes.map(({ name }) => hubOf(name)));
    await Promise.all([this.#watch?.close(), this.#approver?.close(), this.#proxyToken?.close()]);
    // The API server waits for open connections, ours too.
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
