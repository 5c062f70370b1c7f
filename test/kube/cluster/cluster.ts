import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { Agent, AgentOptions } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findKubectl, type Kubectl } from '../../support/kubectl.ts';
import { run } from '../../support/process.ts';
import { repositoryFile } from '../../support/repository.ts';
import { ControlPlane, SERVER_ADDRESS } from '../support/control-plane.ts';
import { Namespace } from '../support/namespace.ts';
import { Cgroups } from './cgroups.ts';
import { Entry, EntryAgent } from './entry.ts';
import { Lan } from './lan.ts';
import { Node, untilReady } from './node.ts';

/** Where the control plane and the nodes for Tidegate's manager are. */
export const CLOUD = 'cloud';

/** The nodes of each site. They get the label `location` with the name of the site. */
export type Sites = Readonly<Record<string, readonly string[]>>;

/** External addresses that routers may have. */
export const ROUTER_ADDRESSES = '203.0.113.0/24';

const APPLICATION = 'localhost/application:1';

/** A real Kubernetes: a control plane, and nodes at several sites whose links to the control plane can be cut. */
export class RealCluster {
  readonly cloud: ControlPlane;
  readonly nodes: readonly Node[];
  readonly #sites: Sites;
  readonly #lans: ReadonlyMap<string, Lan>;
  readonly #entries = new Map<string, Promise<Entry>>();
  readonly #cgroups: Cgroups;

  private constructor(
    cloud: ControlPlane,
    sites: Sites,
    lans: ReadonlyMap<string, Lan>,
    nodes: readonly Node[],
    cgroups: Cgroups,
  ) {
    this.cloud = cloud;
    this.#sites = sites;
    this.#lans = lans;
    this.nodes = nodes;
    this.#cgroups = cgroups;
  }

  /** `applications` are names of images that pods use. All of them are the same program, which answers HTTP requests. */
  static async create(sites: Sites, applications: readonly string[]): Promise<RealCluster> {
    const cloud = await ControlPlane.create({ hasKubelets: true });
    const [images, programs] = [await buildImages(applications), await nodePrograms()];
    const cgroups = new Cgroups();
    const lans = new Map<string, Lan>();
    const nodes: Node[] = [];
    for (const [index, [site, names]] of Object.entries(sites).entries()) {
      const lan = await Lan.create(site);
      lans.set(site, lan);
      if (site === CLOUD) await lan.attach(cloud.namespace, 'server', SERVER_ADDRESS);
      else await lan.connect(lans.get(CLOUD)!, site);
      await lan.addAddress(`10.99.${index}.254`);
      for (const [i, name] of names.entries()) {
        const namespace = await Namespace.create(name);
        const address = `10.99.${index}.${i + 11}`;
        await lan.attach(namespace, `to-${name}`, address);
        const podRange = `10.244.${index * 16 + i}.0/24`;
        const labels = { location: site };
        nodes.push(
          new Node({ name, address, podRange, labels, namespace, cloud, cgroups, programs, images }),
        );
      }
    }
    const cluster = new RealCluster(cloud, sites, lans, nodes, cgroups);
    await cluster.#addRoutes();
    return cluster;
  }

  get kubectl(): Kubectl {
    return this.cloud.kubectl;
  }

  /** Starts the control plane and all nodes, without hubs. Resolves when the nodes are Ready. */
  start(): Promise<void> {
    return this.startCloud(this.nodes);
  }

  /** Starts the control plane and the nodes in the cloud. Resolves when they are Ready. */
  async startCloud(nodes: readonly Node[] = this.nodesOf(CLOUD)): Promise<void> {
    await this.cloud.start();
    await this.kubectl.run('-n kube-system create serviceaccount kube-proxy');
    await this.kubectl.run(
      'create clusterrolebinding kube-proxy --clusterrole=system:node-proxier --serviceaccount=kube-system:kube-proxy',
    );
    await this.#startNodes(nodes);
  }

  /** Starts the nodes of all other sites, without hubs. Resolves when they are Ready. */
  startSites(): Promise<void> {
    return this.#startNodes(this.edge);
  }

  /** The nodes of all sites but the cloud. */
  get edge(): Node[] {
    return this.nodes.filter(({ options }) => options.labels.location !== CLOUD);
  }

  node(name: string): Node {
    const node = this.nodes.find((each) => each.name === name);
    if (node === undefined) throw new Error(`${name} is not a node of the cluster`);
    return node;
  }

  nodesOf(site: string): Node[] {
    return (this.#sites[site] ?? []).map((name) => this.node(name));
  }

  /** The node and the site of a pod, by its address. */
  placeOf(address: string): { node: string; site: string } {
    const [, range] = /^(\d+\.\d+\.\d+)\.\d+$/.exec(address) ?? [];
    const node = this.nodes.find(({ options }) => options.podRange.startsWith(`${range}.`));
    if (node === undefined) throw new Error(`no node has pods with the address ${address}`);
    return { node: node.name, site: node.options.labels.location ?? '' };
  }

  /** Runs a command in a container. */
  exec(namespace: string, pod: string, ...command: string[]): Promise<string> {
    const kubectl = [findKubectl(), '--kubeconfig', this.cloud.adminKubeconfig, '--namespace', namespace];
    return run([...this.cloud.namespace.wrapper, ...kubectl, 'exec', pod, '--', ...command]);
  }

  /** Sends a request from a client in the network of a site, which is not on a node. */
  curl(site: string, ...args: string[]): Promise<string> {
    return this.#lan(site).namespace.run('curl', '-sSf', '--max-time', '20', ...args);
  }

  /** A client in the network of a site. */
  entry(site: string): Promise<Entry> {
    const entry =
      this.#entries.get(site) ?? Entry.open(this.#lan(site).namespace, this.cloud.directory, `entry-${site}`);
    this.#entries.set(site, entry);
    return entry;
  }

  /** An agent for requests from a client in the network of a site, which connects when it is used. */
  agentAt(site: string, options: AgentOptions): Agent {
    return new EntryAgent(() => this.entry(site), options);
  }

  cut(site: string): Promise<void> {
    return this.#lan(site).cut();
  }

  mend(site: string): Promise<void> {
    return this.#lan(site).mend();
  }

  /** The command that a user runs to cut or mend the link of a site. */
  linkCommand(site: string, state: 'up' | 'down'): string {
    return `ip -n ${this.#lan(site).namespace.name} link set uplink ${state}`;
  }

  async stop(): Promise<void> {
    for (const entry of this.#entries.values()) await (await entry).close();
    for (const node of this.nodes) await node.stop();
    for (const { options } of this.nodes) await options.namespace.remove();
    await this.cloud.remove();
    for (const lan of this.#lans.values()) await lan.remove();
    await this.#cgroups.remove();
  }

  async #startNodes(nodes: readonly Node[]): Promise<void> {
    const token = await this.cloud.token('kube-system', 'kube-proxy');
    await Promise.all(nodes.map((node) => node.start(token)));
    await untilReady(this.cloud, nodes);
  }

  #lan(site: string): Lan {
    const lan = this.#lans.get(site);
    if (lan === undefined) throw new Error(`${site} is not a site of the cluster`);
    return lan;
  }

  /**
   * Every machine knows where the pods of every node are, like with a routed pod network. Clients in the cloud know which node
   * external addresses lead to.
   */
  async #addRoutes(): Promise<void> {
    const machines = [this.cloud.namespace, ...this.nodes.map(({ options }) => options.namespace)];
    for (const machine of machines)
      for (const { options } of this.nodes)
        if (options.namespace !== machine)
          await machine.ip('route', 'add', options.podRange, 'via', options.address);
    const [first] = this.nodesOf(CLOUD);
    if (first !== undefined)
      await this.#lan(CLOUD).namespace.ip('route', 'add', ROUTER_ADDRESSES, 'via', first.options.address);
  }
}

/** The folder with containerd, runc and the network plugins. */
const nodePrograms = async (): Promise<string> =>
  (await run([process.execPath, repositoryFile('scripts/node-programs.js')])).trim();

/** Once for all clusters of a test run: the directory for temporary files is that of the run. */
async function buildImages(applications: readonly string[]) {
  const folder = join(tmpdir(), 'images');
  const written = join(folder, 'written');
  if (!existsSync(written)) {
    await mkdir(folder, { recursive: true });
    const output = await run([process.execPath, repositoryFile('scripts/image.js'), '--output', folder]);
    const [, archive = ''] = /^written to (\S+)/m.exec(output) ?? [];
    const applicationImages = repositoryFile('test/kube/cluster/app-images.js');
    const busybox = join(await nodePrograms(), 'bin/busybox');
    await run([process.execPath, applicationImages, archive, busybox, folder]);
    await writeFile(written, archive);
  }
  const tidegate = await readFile(written, 'utf8');
  return {
    archives: [tidegate, join(folder, 'application.tar'), join(folder, 'pause.tar')],
    aliases: Object.fromEntries(applications.map((name) => [name, APPLICATION])),
    pause: 'localhost/pause:1',
  };
}
