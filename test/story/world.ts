/** What the story needs from a cluster. There is one implementation for each kind of cluster. */
import type { Socket } from 'node:net';
import type { KubeList, Pod, Service } from '@tidegate/kube';
import type { ClusterReport } from '../../packages/tidegate/src/supervisor/index.ts';
import type { DataPlane } from '../support/data-plane.ts';
import type { Kubectl } from '../support/kubectl.ts';
import type { Answer } from '../support/load.ts';
import type { Callers, Door, Site } from './callers.ts';

export const POOLS = ['hangzhou', 'beijing'] as const;
const ROUTERS = 'ingress-nginx';

/** The cluster of `tidegate up`, or a Kubernetes with kubelets and containers. */
export interface World extends Site {
  readonly kubectl: Kubectl;
  readonly callers: Callers;
  readonly doors: Doors;
  readonly dataPlane: DataPlane;
  connect(url: URL): Promise<Socket>;
  cut(pool: string): Promise<void>;
  mend(pool: string): Promise<void>;
  /** Kills the router, and resolves when another one runs in its pod. */
  killRouter(pod: Pod): Promise<void>;
  /** Kills the hub of a node, and resolves when another one runs. */
  killHub(node: string): Promise<void>;
  /** As when the power of the node fails and returns: its processes, and all that is not on disk, are gone. */
  reboot(node: string): Promise<void>;
  /** The output of `tidegate trace`. */
  trace(...args: string[]): Promise<string>;
  /** What only this kind of cluster has; see README.md. */
  readonly embedded?: EmbeddedOnly;
  close(): Promise<void>;
}

export interface EmbeddedOnly {
  /** The commands that `tidegate up` suggests. */
  suggestions(): string[];
  tried(line: string): Promise<Answer>;
  report(): Promise<ClusterReport>;
  status(): Promise<string>;
}

/** The front doors of all pools. */
export class Doors {
  readonly #doors: ReadonlyMap<string, Door & { securePort: number }>;

  private constructor(doors: ReadonlyMap<string, Door & { securePort: number }>) {
    this.#doors = doors;
  }

  /** `addresses`: those of the nodes of each pool. */
  static async find(kubectl: Kubectl, addresses: (pool: string) => string[]): Promise<Doors> {
    const doors = new Map<string, Door & { securePort: number }>();
    for (const pool of POOLS) {
      const { spec } = await kubectl.json<Service>(`-n ${ROUTERS} get service tidegate-router-${pool}`);
      const [port = 0, securePort = 0] = spec?.ports?.map(({ nodePort }) => nodePort ?? 0) ?? [];
      const urls = addresses(pool).map((address) => `http://${address}:${port}/`);
      doors.set(pool, { pool, urls, securePort });
    }
    return new Doors(doors);
  }

  get all(): Door[] {
    return [...this.#doors.values()];
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
}

async function podsIn(kubectl: Kubectl, pool: string): Promise<Pod[]> {
  const selector = `app=nginx,apps.tidegate.io/edition=${pool}`;
  return (await kubectl.json<KubeList<Pod>>(`get pods -l ${selector}`)).items;
}

/** The names of the pods of the story's application in a pool. */
export const podsOf = async (kubectl: Kubectl, pool: string): Promise<string[]> =>
  (await podsIn(kubectl, pool)).map(({ metadata }) => `${metadata.name}`).toSorted();

/** Their addresses, by node, as the cloud knows them. */
export async function addressesOf(kubectl: Kubectl, pool: string): Promise<Map<string, string[]>> {
  const addresses = new Map<string, string[]>();
  for (const { spec, status } of await podsIn(kubectl, pool)) {
    const node = spec?.nodeName ?? '';
    addresses.set(node, [...(addresses.get(node) ?? []), `${status?.podIP}`].toSorted());
  }
  return addresses;
}

export async function routerPod(kubectl: Kubectl, pool: string): Promise<Pod> {
  const selector = `networking.tidegate.io/router=${pool}`;
  const { items } = await kubectl.json<KubeList<Pod>>(`-n ${ROUTERS} get pods -l ${selector}`);
  return items[0]!;
}
