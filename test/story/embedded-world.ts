/** The story in a local cluster, as after `npm start`. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pod } from '@tidegate/kube';
import type { ClusterReport } from '../../packages/tidegate/src/supervisor/index.ts';
import { Cluster, eventually } from '../support/cluster.ts';
import { type DataPlane, EMBEDDED_DATA_PLANE } from '../support/data-plane.ts';
import type { Kubectl } from '../support/kubectl.ts';
import { type Answer, ask } from '../support/load.ts';
import { run } from '../support/process.ts';
import { Tidegate } from '../support/tidegate.ts';
import { type Asking, Callers } from './callers.ts';
import { Doors, type EmbeddedOnly, type World } from './world.ts';

export class EmbeddedWorld implements World {
  readonly doors: Doors;
  readonly callers: Callers;
  readonly dataPlane: DataPlane;
  readonly #cluster: Cluster;

  private constructor(cluster: Cluster, dataPlane: DataPlane, doors: Doors) {
    this.#cluster = cluster;
    this.dataPlane = dataPlane;
    this.doors = doors;
    this.callers = new Callers(doors.all, this);
  }

  static async open(dataPlane: DataPlane): Promise<EmbeddedWorld> {
    const state = await mkdtemp(join(tmpdir(), 'tidegate-'));
    if (dataPlane === 'embedded')
      await writeFile(join(state, 'images.yaml'), JSON.stringify(EMBEDDED_DATA_PLANE));
    const cluster = await Cluster.open(state);
    const { nodes, pools } = await cluster.report();
    const doors = await Doors.find(cluster.kubectl, (pool) => {
      const members = pools.find(({ name }) => name === pool)?.nodes ?? [];
      return nodes.filter(({ name }) => members.includes(name)).map(({ address }) => address);
    });
    // `tidegate up` waits for the nodes that run the routers. The node ports of other nodes can open a moment later.
    for (const url of doors.all.flatMap(({ urls }) => urls))
      await eventually(`${url} is answered`, () => ask(url, undefined, { host: 'www.example.com' }));
    return new EmbeddedWorld(cluster, dataPlane, doors);
  }

  get kubectl(): Kubectl {
    return this.#cluster.kubectl;
  }

  ask(url: string, { agent, host = 'www.example.com', signal }: Asking = {}): Promise<Answer> {
    return ask(url, agent, { host }, signal);
  }

  agent(): Agent {
    return new Agent({ keepAlive: true, maxSockets: 1 });
  }

  connect({ hostname, port }: URL): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      socket.once('connect', () => resolve(socket));
      socket.once('error', reject);
    });
  }

  async cut(pool: string): Promise<void> {
    await this.#cluster.tidegate('cut', pool);
  }

  async mend(pool: string): Promise<void> {
    await this.#cluster.tidegate('mend', pool);
  }

  async killRouter(pod: Pod): Promise<void> {
    const router = await this.#cluster.processOf(pod);
    process.kill(router, 'SIGKILL');
    await eventually('another router runs', async () =>
      (await this.#cluster.processOf(pod)) !== router ? true : undefined,
    );
  }

  async killHub(node: string): Promise<void> {
    process.kill(await this.#cluster.pidOf(`hub-${node}`), 'SIGKILL');
    await eventually(
      'another hub is running',
      () => this.#cluster.up.stdout.includes(`hub-${node} is running again`) || undefined,
    );
  }

  async reboot(node: string): Promise<void> {
    const parts = [`hub-${node}`, node];
    const before = await Promise.all(parts.map((part) => this.#cluster.pidOf(part)));
    await this.#cluster.tidegate('reboot', node);
    await eventually(`${node} runs again`, async () => {
      const { processes } = await this.#cluster.report();
      const now = parts.map((part) => processes.find(({ name }) => name === part));
      return now.every((part, i) => part?.state === 'running' && part.pid !== before[i]) || undefined;
    });
  }

  async trace(...args: string[]): Promise<string> {
    const trace = new Tidegate(['trace', ...args, '--kubeconfig', join(this.#cluster.state, 'kubeconfig')]);
    await trace.exited;
    return trace.stdout + trace.stderr;
  }

  get embedded(): EmbeddedOnly {
    const cluster = this.#cluster;
    return {
      suggestions: () => cluster.up.stdout.match(/curl -H .*/g) ?? [],
      tried: async (line) => JSON.parse(await run(['/bin/sh', '-c', line])) as Answer,
      report: (): Promise<ClusterReport> => cluster.report(),
      status: () => cluster.tidegate('status'),
    };
  }

  async close(): Promise<void> {
    await this.callers.stop();
    await this.#cluster.stop();
  }
}
