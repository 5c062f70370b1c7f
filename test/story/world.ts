/** The cluster of the story, as after `npm start`. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeList, Pod, Service } from '@tidegate/kube';
import type { ClusterReport } from '../../packages/tidegate/src/supervisor/index.ts';
import { Cluster } from '../support/cluster.ts';
import { type DataPlane, EMBEDDED_DATA_PLANE } from '../support/data-plane.ts';
import type { Answer } from '../support/load.ts';
import { run } from '../support/process.ts';
import { Tidegate } from '../support/tidegate.ts';
import { Callers, type Door } from './callers.ts';

export const POOLS = ['hangzhou', 'beijing'] as const;
const ROUTERS = 'ingress-nginx';

interface SecureDoor extends Door {
  securePort: number;
}

export class World {
  readonly cluster: Cluster;
  readonly callers: Callers;
  readonly #doors: ReadonlyMap<string, SecureDoor>;

  private constructor(cluster: Cluster, doors: ReadonlyMap<string, SecureDoor>) {
    this.cluster = cluster;
    this.#doors = doors;
    this.callers = new Callers([...doors.values()]);
  }

  static async open(dataPlane: DataPlane): Promise<World> {
    const state = await mkdtemp(join(tmpdir(), 'tidegate-'));
    if (dataPlane === 'embedded')
      await writeFile(join(state, 'images.yaml'), JSON.stringify(EMBEDDED_DATA_PLANE));
    const cluster = await Cluster.open(state);
    const { nodes, pools } = await cluster.report();
    const doors = new Map<string, SecureDoor>();
    for (const pool of POOLS) {
      const { spec } = await cluster.kubectl.json<Service>(
        `-n ${ROUTERS} get service tidegate-router-${pool}`,
      );
      const [port = 0, securePort = 0] = spec?.ports?.map(({ nodePort }) => nodePort ?? 0) ?? [];
      const members = pools.find(({ name }) => name === pool)?.nodes ?? [];
      const addresses = nodes.filter(({ name }) => members.includes(name)).map(({ address }) => address);
      doors.set(pool, { pool, urls: addresses.map((address) => `http://${address}:${port}/`), securePort });
    }
    return new World(cluster, doors);
  }

  /** The front door of a pool on its first node. */
  url(pool: string, path = '/'): string {
    return new URL(path, this.#doors.get(pool)?.urls[0]).href;
  }

  urls(pool: string): string[] {
    return this.#doors.get(pool)?.urls ?? [];
  }

  secureUrl(pool: string): URL {
    const url = new URL(this.url(pool));
    url.protocol = 'https:';
    url.port = String(this.#doors.get(pool)?.securePort);
    return url;
  }

  report(): Promise<ClusterReport> {
    return this.cluster.report();
  }

  async pods(pool: string): Promise<string[]> {
    const selector = `app=nginx,apps.tidegate.io/edition=${pool}`;
    const { items } = await this.cluster.kubectl.json<KubeList<Pod>>(`get pods -l ${selector}`);
    return items.map(({ metadata }) => `${metadata.name}`).toSorted();
  }

  async routerPod(pool: string): Promise<Pod> {
    const selector = `networking.tidegate.io/router=${pool}`;
    const { items } = await this.cluster.kubectl.json<KubeList<Pod>>(`-n ${ROUTERS} get pods -l ${selector}`);
    return items[0]!;
  }

  /** The output of a command that `tidegate up` suggested. */
  async tried(line: string): Promise<Answer> {
    return JSON.parse(await run(['/bin/sh', '-c', line])) as Answer;
  }

  async trace(...args: string[]): Promise<string> {
    const trace = new Tidegate(['trace', ...args, '--kubeconfig', join(this.cluster.state, 'kubeconfig')]);
    await trace.exited;
    return trace.stdout + trace.stderr;
  }
}
