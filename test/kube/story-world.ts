/** The story on a real cluster: real kubelets, Tidegate and the applications in containers, hubs on the nodes. */
import type { Agent } from 'node:http';
import type { Socket } from 'node:net';
import type { Pod } from '@tidegate/kube';
import { Callers } from '../story/callers.ts';
import { Doors, type RealOnly, type World } from '../story/world.ts';
import { eventually } from '../support/cluster.ts';
import type { Kubectl } from '../support/kubectl.ts';
import { type Answer, ask } from '../support/load.ts';
import { finish } from '../support/process.ts';
import { PROGRAM, repositoryFile } from '../support/repository.ts';
import { CLOUD, RealCluster } from './cluster/cluster.ts';
import { installTidegate } from './cluster/install.ts';

const SITES = { [CLOUD]: ['cloud-1'], hangzhou: ['node-a', 'node-b'], beijing: ['node-c', 'node-d'] };
const IMAGES = [
  'hangzhou.registry.io/nginx:latest',
  'beijing.registry.io/nginx:latest',
  'docker.io/library/cart:latest',
];

export class RealWorld implements World {
  readonly doors: Doors;
  readonly callers: Callers;
  readonly dataPlane = 'nginx';
  readonly #cluster: RealCluster;
  readonly #agents: Agent[] = [];

  private constructor(cluster: RealCluster, doors: Doors) {
    this.#cluster = cluster;
    this.doors = doors;
    this.callers = new Callers(doors.all, this);
  }

  static async open(): Promise<RealWorld> {
    const cluster = await RealCluster.create(SITES, IMAGES);
    try {
      await cluster.startCloud();
      // Before there are other nodes, so that the manager runs in the cloud.
      await installTidegate(cluster);
      await cluster.startSites();
      // The manager approves the certificates of the hubs.
      await Promise.all(cluster.edge.map((node) => node.useHub()));
      const { kubectl } = cluster;
      await kubectl.run(`apply -f ${repositoryFile('examples/story')}`);
      await kubectl.run('wait yurtingress/cities --for=jsonpath={.status.readyNum}=2 --timeout=240s');
      const doors = await Doors.find(kubectl, (pool) =>
        cluster.nodesOf(pool).map(({ options }) => options.address),
      );
      const world = new RealWorld(cluster, doors);
      return world;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get kubectl(): Kubectl {
    return this.#cluster.kubectl;
  }

  /** A container knows its name and its address only. The rest is known from the address. */
  async ask(url: string, { agent, host }: { agent?: Agent; host?: string } = {}): Promise<Answer> {
    const single = agent === undefined ? (await this.#entryFor(url)).agent() : undefined;
    try {
      const answer = await ask(url, agent ?? single, { host: host ?? 'www.example.com' });
      const { address } = answer as unknown as { address: string };
      const { node, site } = this.#cluster.placeOf(address);
      return { ...answer, node, pool: site };
    } finally {
      single?.destroy();
    }
  }

  agent(url: string): Agent {
    const agent = this.#cluster.agentAt(this.#siteOf(url), { keepAlive: true, maxSockets: 1 });
    this.#agents.push(agent);
    return agent;
  }

  async connect(url: URL): Promise<Socket> {
    return (await this.#entryFor(url.href)).connect(url.hostname, Number(url.port));
  }

  cut(pool: string): Promise<void> {
    return this.#cluster.cut(pool);
  }

  mend(pool: string): Promise<void> {
    return this.#cluster.mend(pool);
  }

  async killRouter({ metadata, spec }: Pod): Promise<void> {
    const node = this.#cluster.node(spec?.nodeName ?? '');
    const [before] = await node.containers(`${metadata.uid}`);
    await node.ctr('tasks', 'kill', '--signal', 'SIGKILL', `${before}`);
    await eventually('another router runs', async () => {
      const [now] = await node.containers(`${metadata.uid}`);
      return (now !== undefined && now !== before) || undefined;
    });
  }

  async killHub(name: string): Promise<void> {
    const node = this.#cluster.node(name);
    await node.hub.stop('SIGKILL');
    await node.startHub();
  }

  async trace(...args: string[]): Promise<string> {
    const { namespace, adminKubeconfig } = this.#cluster.cloud;
    const command = [process.execPath, PROGRAM, 'trace', ...args, '--kubeconfig', adminKubeconfig];
    return (await finish([...namespace.wrapper, ...command])).output;
  }

  get real(): RealOnly {
    return {
      reboot: async (name) => {
        const node = this.#cluster.node(name);
        await node.powerOff();
        await node.reboot();
      },
      nodes: (pool) => this.#cluster.nodesOf(pool).map(({ name }) => name),
    };
  }

  async close(): Promise<void> {
    await this.callers.stop();
    for (const agent of this.#agents) agent.destroy();
    await this.#cluster.stop();
  }

  #siteOf(url: string): string {
    const { hostname } = new URL(url);
    const node = this.#cluster.nodes.find(({ options }) => options.address === hostname);
    return node?.options.labels.location ?? CLOUD;
  }

  #entryFor(url: string) {
    return this.#cluster.entry(this.#siteOf(url));
  }
}
