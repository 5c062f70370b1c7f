import { setMaxListeners } from 'node:events';
import { failPower } from '@tidegate/envtest/node';
import { KubeClient, loadConfig } from '@tidegate/kube';
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
import { type Component, checkNames, processesOf } from './components.ts';
import { type NodeCredentials, nodeCredentials } from './credentials.ts';
import { DiskWatch } from './disk-watch.ts';
import { SupervisorError } from './error.ts';
import { frontDoors } from './front-doors.ts';
import { installRbac } from './install.ts';
import { hubOf } from './layout.ts';
import { Links } from './links.ts';
import { rotateLogs, supervisorLog } from './logs.ts';
import { movePods, takenPorts } from './move-pods.ts';
import { nodeReports } from './node-reports.ts';
import { NodeWatch } from './node-watch.ts';
import { type NotReady, nodeNotReady } from './not-ready.ts';
import { readObjects, type SeenObjects } from './objects.ts';
import { expectedFrontDoors, untilDoorsOpen } from './open-doors.ts';
import { poolReports } from './pools.ts';
import { freeForPods } from './ports.ts';
import { ProxyToken } from './proxy-token.ts';
import { type PruneOptions, pruneLayout } from './prune.ts';
import { readdressNodes } from './readdress.ts';
import { type Awaited, untilReady } from './readiness.ts';
import { type ClusterReport, memoryOf, type Reporter } from './report.ts';
import { untilAccepted } from './retry.ts';
import { crashRouter } from './router-pods.ts';
import { RouterWatch } from './router-watch.ts';
import { queryFrontDoor } from './routers.ts';
import { routeReports } from './routes.ts';
import { ServingApprover } from './serving-approver.ts';
import { addressOf, type NodeState, writeCluster } from './state.ts';
import { createStory, type StoryOptions } from './story.ts';
import { resolveTargets } from './targets.ts';
import { writeRefusal } from './write-refusal.ts';

export interface SupervisorOptions extends ProgramOptions, Omit<PruneOptions, 'signal' | 'report'> {
  /** The file with the RBAC objects of hubs. */
  hubManifests: string;
  /** The directory with the example manifests. */
  storyManifests: string;
  reporter: Reporter;
}

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
  readonly #listeners = new Set<Reporter>();
  readonly #reporter: Reporter = {
    step: (line) => {
      for (const listener of this.#listeners) listener.step(line);
    },
    note: (line) => {
      for (const listener of this.#listeners) listener.note(line);
    },
  };
  #phase: ClusterReport['phase'] = 'starting';
  #client: KubeClient | undefined;
  #watch: NodeWatch | undefined;
  #routerWatch: RouterWatch | undefined;
  #approver: ServingApprover | undefined;
  #proxyToken: ProxyToken | undefined;
  #starting: Promise<NotReady[]> = Promise.resolve([]);
  #stopped: Promise<void> | undefined;
  #changingLinks: Promise<unknown> = Promise.resolve();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#links = new Links(options.cluster);
    this.#disk = new DiskWatch(options.state.path, (line) => this.#reporter.note(line));
    this.#children = new Children(options.state.childrenFile, this.#reporter);
    this.#listeners.add(options.reporter);
    // Every child and every request adds a listener.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Aborted as soon as the cluster is asked to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * Starts links, API server and credentials; then controllers, manager and nodes in parallel, each node after its
   * hub. A new cluster gets the example objects meanwhile. Resolves to the nodes, or otherwise the front
   * doors, that are not ready in time, with the reasons. On failure, everything is stopped again.
   */
  async start(): Promise<NotReady[]> {
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
  async #startAll(): Promise<NotReady[]> {
    this.#disk.run();
    await rotateLogs(this.#options.state.logs);
    this.#listeners.add(supervisorLog(this.#options.state.logs));
    await this.#links.open();
    this.#save();
    const client = await this.#startApiServer();
    const before = await expectedFrontDoors(client, this.#options.cluster);
    await pruneLayout(client, { ...this.#options, report: this.#reporter.note, signal: this.stopping });
    await readdressNodes(client, this.#options.cluster.range, this.stopping);
    const manager = this.#start(managerSpec(this.#options)).then(() =>
      this.#reporter.step('manager is ready'),
    );
    const pods = this.#movePods(client, manager);
    const [story] = await Promise.all([
      manager.then(() => this.#createStory(client)),
      pods
        .then(() => this.#start(controllersSpec(this.#options)))
        .then(() => this.#reporter.step('controllers are ready')),
      this.#startNodes(client, pods),
    ]);
    const notReady = await this.#untilNodesReady();
    if (notReady.length === 0)
      notReady.push(...(await untilDoorsOpen(client, [...before, ...story], this.#reporter, this.stopping)));
    this.stopping.throwIfAborted();
    this.#phase = 'running';
    // Not earlier: routers that do not become ready are reported above, and an adopted pod may restart its router once.
    this.#routerWatch = new RouterWatch(client, this.#options.state, this.#reporter.note);
    this.#routerWatch.run();
    return notReady;
  }

  /** Resolves when nodes can start pods: none of them is on a port that another program has taken since the last run. */
  async #movePods(client: KubeClient, manager: Promise<void>): Promise<void> {
    const options = this.#storyOptions();
    const taken = await takenPorts(client, options.isFree, this.stopping);
    if (taken.size === 0) return;
    await manager;
    await movePods(client, { ...options, taken });
  }

  #storyOptions(): StoryOptions {
    return {
      directory: this.#options.storyManifests,
      isFree: freeForPods(this.#options.cluster.range),
      report: this.#reporter.note,
      signal: this.stopping,
    };
  }

  /** Returns the names of the front doors in the example. */
  async #createStory(client: KubeClient): Promise<string[]> {
    const { cluster } = this.#options;
    if (cluster.awaitsStory !== true) return [];
    const doors = await createStory(client, this.#storyOptions());
    delete cluster.awaitsStory;
    this.#save();
    this.#reporter.step(
      'created the example: two pools, an application, and a front door with an Ingress for each pool',
    );
    return doors;
  }

  /**
   * Stops nodes with their pods, hubs, manager, controllers, API server, links, in this order. Calls after the first
   * wait for the same stop.
   */
  stop(progress?: (line: string) => void): Promise<void> {
    if (progress !== undefined) this.#listeners.add({ step: progress, note: progress });
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
    const seen = await this.#readObjects();
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
      frontDoors: await Promise.all(doors.map((door) => queryFrontDoor(door, seen?.pods ?? []))),
      routes,
    };
  }

  async #warnings(): Promise<string[]> {
    const disk = await this.#disk.warning();
    const refusal = this.#client === undefined ? undefined : await writeRefusal(this.#client);
    return [disk, refusal].flatMap((warning) => warning ?? []);
  }

  /** Undefined when the API server is unreachable. One that is known not to respond is not asked, because that takes long. */
  async #readObjects(): Promise<SeenObjects | undefined> {
    if (this.#client === undefined || !this.#children.isResponding('apiserver')) return undefined;
    return readObjects(this.#client);
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
        this.#reporter.note(`link ${action === 'cut' ? 'cut' : 'restored'}: ${names.join(', ')}`);
      return names;
    });
    // The caller receives a failure; the next change only waits for this one to finish.
    this.#changingLinks = change.catch(() => undefined);
    return change;
  }

  /** Kills processes of a component, which are restarted. Returns a description of each. */
  crash(component: Component, names: readonly string[]): string[] {
    checkNames(component, names);
    if (component === 'router') return names.flatMap((name) => crashRouter(this.#options.state, name));
    const nodes = names.length === 0 ? [] : this.#nodesFor(names).map(({ name }) => name);
    return processesOf(component, nodes).map((name) => `${name} (pid ${this.#children.crash(name)})`);
  }

  /** Ends all processes of the nodes, as a power failure does. Agents and hubs are restarted. */
  reboot(targets: readonly string[]): string[] {
    const names = this.#nodesFor(targets).map(({ name }) => name);
    for (const name of names)
      failPower(this.#options.state.node(name), () => this.#children.crashIfRunning(name, hubOf(name)));
    return names;
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

  async #startApiServer(): Promise<KubeClient> {
    const { state, cluster } = this.#options;
    await this.#start(apiserverSpec(this.#options));
    this.stopping.throwIfAborted();
    const config = await loadConfig({ path: state.kubeconfig, env: {} });
    const client = new KubeClient(config, { userAgent: 'tidegate-supervisor' });
    this.#client = client;
    await client.text('/readyz', { signal: this.stopping });
    this.#reporter.step(`API server is ready at ${config.server}`);
    this.#watch = new NodeWatch(client);
    this.#watch.run();
    const known = cluster.nodes.map((node) => ({ name: node.name, address: addressOf(cluster, node) }));
    this.#approver = new ServingApprover(client, known, this.#reporter.note);
    await this.#approver.run();
    return client;
  }

  /** Credentials come first, because a hub and an agent cannot start without them. */
  async #startNodes(client: KubeClient, pods: Promise<void>): Promise<void> {
    const { state, cluster, hubManifests } = this.#options;
    await installRbac(client, hubManifests, this.stopping, this.#reporter.note);
    this.#proxyToken = new ProxyToken(client, state.proxyToken, this.#reporter.note);
    const [credentials] = await Promise.all([
      Promise.all(cluster.nodes.map((node) => this.#credentialsOf(node, client))),
      this.#proxyToken.run(),
    ]);
    const count = cluster.nodes.length;
    if (count > 0) this.#reporter.step(`issued credentials for ${count} ${count === 1 ? 'node' : 'nodes'}`);
    await pods;
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
    const options = {
      client,
      node: node.name,
      directory: state.node(node.name),
      server: serverOf(node),
      hub: hubServerOf(cluster, node),
      proxyTokenFile: state.proxyToken,
      signal: this.stopping,
    };
    return untilAccepted(() => nodeCredentials(options), {
      what: `issue credentials for ${node.name}`,
      report: this.#reporter.note,
      signal: this.stopping,
    });
  }

  async #startNode(node: NodeState, credentials: NodeCredentials): Promise<void> {
    await this.#start(hubSpec(this.#options, node, credentials));
    await this.#start(nodeSpec(this.#options, node, credentials));
  }

  #withoutWaiting(starting: Promise<void>): void {
    starting.catch((error: Error) => {
      if (!this.stopping.aborted) this.#reporter.note(error.message);
    });
  }

  #untilNodesReady(): Promise<NotReady[]> {
    const names = this.#options.cluster.nodes.filter(({ cut }) => !cut).map(({ name }) => name);
    const wait: Awaited['wait'] = async (onReady, signal) => {
      const onNode = (name: string): void => onReady(name, `node ${name} is ready`);
      await this.#watch?.untilReady(names, onNode, signal);
    };
    const explain = async (name: string): Promise<NotReady> =>
      nodeNotReady(name, this.#children.statusOf(hubOf(name)), this.#children.statusOf(name));
    return untilReady({ names, wait, explain, reporter: this.#reporter, signal: this.stopping });
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
    this.#children.retire();
    // From here on, routers end on purpose.
    await this.#routerWatch?.close();
    const { nodes } = this.#options.cluster;
    // Requests to an API server that hangs would delay the stop of everything else.
    if (!this.#children.isResponding('apiserver')) await this.#children.stop(['apiserver']);
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
}
