/** The story on a real cluster: real kubelets, Tidegate and the applications in containers, hubs on the nodes. */
import type { Agent } from 'node:http';
import type { Socket } from 'node:net';
import type { Pod } from '@tidegate/kube';
import { type Asking, Callers } from '../../story/callers.ts';
import { Doors, type World } from '../../story/world.ts';
import { eventually } from '../../support/cluster.ts';
import type { Kubectl } from '../../support/kubectl.ts';
import { type Answer, ask } from '../../support/load.ts';
import { finish } from '../../support/process.ts';
import { PROGRAM, repositoryFile } from '../../support/repository.ts';
import { CLOUD, type RealCluster } from '../cluster/cluster.ts';

export const SITES = { [CLOUD]: ['cloud-1'], hangzhou: ['node-a', 'node-b'], beijing: ['node-c', 'node-d'] };
export const IMAGES = [
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

  /** Creates the objects of the story, in a cluster with Tidegate and hubs. Resolves when the front doors answer. */
  static async open(cluster: RealCluster): Promise<RealWorld> {
    const { kubectl } = cluster;
    // On a busy machine, the webhook may report that it had no time for an application, and that the user should try again.
    await eventually('the objects are created', () =>
      kubectl.run(`apply -f ${repositoryFile('examples/story')}`),
    );
    await kubectl.run('wait yurtingress/cities --for=jsonpath={.status.readyNum}=2 --timeout=240s');
    const doors = await Doors.find(kubectl, (pool) =>
      cluster.nodesOf(pool).map(({ options }) => options.address),
    );
    for (const url of doors.all.flatMap(({ urls }) => urls))
      await eventually(`${url} is answered`, async () =>
        ask(url, (await entryFor(cluster, url)).agent(), { host: 'www.example.com' }),
      );
    return new RealWorld(cluster, doors);
  }

  get kubectl(): Kubectl {
    return this.#cluster.kubectl;
  }

  /** A container knows its name and its address only. The rest is known from the address. */
  async ask(url: string, { agent, host = 'www.example.com', signal }: Asking = {}): Promise<Answer> {
    const single = agent === undefined ? (await entryFor(this.#cluster, url)).agent() : undefined;
    try {
      const answer = await ask(url, agent ?? single, { host }, signal);
      const { address } = answer as unknown as { address: string };
      const { node, site } = this.#cluster.placeOf(address);
      return { ...answer, node, pool: site };
    } finally {
      single?.destroy();
    }
  }

  agent(url: string): Agent {
    const agent = this.#cluster.agentAt(siteOf(this.#cluster, url), { keepAlive: true, maxSockets: 1 });
    this.#agents.push(agent);
    return agent;
  }

  async connect(url: URL): Promise<Socket> {
    return (await entryFor(this.#cluster, url.href)).connect(url.hostname, Number(url.port));
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

  async reboot(name: string): Promise<void> {
    const node = this.#cluster.node(name);
    await node.powerOff();
    await node.reboot();
  }

  async trace(...args: string[]): Promise<string> {
    const { namespace, adminKubeconfig } = this.#cluster.cloud;
    const command = [process.execPath, PROGRAM, 'trace', ...args, '--kubeconfig', adminKubeconfig];
    return (await finish([...namespace.wrapper, ...command])).output;
  }

  /** Ends the requests. The cluster runs on, for other tests. */
  async close(): Promise<void> {
    await this.callers.stop();
    for (const agent of this.#agents) agent.destroy();
  }
}

/** The site of the node that a URL leads to. */
function siteOf(cluster: RealCluster, url: string): string {
  const { hostname } = new URL(url);
  const node = cluster.nodes.find(({ options }) => options.address === hostname);
  return node?.options.labels.location ?? CLOUD;
}

const entryFor = (cluster: RealCluster, url: string) => cluster.entry(siteOf(cluster, url));
