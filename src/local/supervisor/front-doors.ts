/** Where requests come in: the routers of the cluster, and what they serve. */
import { get } from 'node:http';
import { isIPv6 } from 'node:net';
import { L7_ROUTERS, type L7Router, type RouterAddress } from '../../api/index.ts';
import { classesOf } from '../../ingress/classes/index.ts';
import { classNameOf } from '../../ingress/compile/index.ts';
import { sleep } from '../../kube/clock.ts';
import { getCondition, INGRESSES, type Ingress, type KubeClient, systemClock } from '../../kube/index.ts';

export interface FrontDoorReport {
  name: string;
  /** Absent when it serves all of the cluster. */
  pool?: string;
  ready: 'True' | 'False' | 'Unknown';
  /** Where it takes http, such as `http://127.64.0.1:30080`. */
  urls: string[];
  /** The names that Ingresses of its classes have. */
  hosts: string[];
}

export function frontDoorReports(
  routers: readonly L7Router[],
  ingresses: readonly Ingress[],
): FrontDoorReport[] {
  return routers.map((router) => ({
    name: `${router.metadata.name}`,
    pool: router.spec.pool,
    ready: getCondition(router.status?.conditions, 'Ready')?.status ?? 'Unknown',
    urls: (router.status?.addresses ?? []).flatMap(urlOf),
    hosts: hostsOf(router, ingresses),
  }));
}

function urlOf({ ip, hostname, ports }: RouterAddress): string[] {
  const host = ip !== undefined && isIPv6(ip) ? `[${ip}]` : (ip ?? hostname);
  // The first one is for http, the second for https.
  const port = ports?.[0]?.port;
  return host === undefined || port === undefined ? [] : [`http://${host}:${port}`];
}

function hostsOf(router: L7Router, ingresses: readonly Ingress[]): string[] {
  const classes = classesOf(router);
  const named = ingresses
    .filter((ingress) => classes.includes(classNameOf(ingress) ?? ''))
    .flatMap(({ spec }) => spec?.rules?.map(({ host = '' }) => host) ?? []);
  const placed = router.spec.hosts;
  return [...new Set(named)].filter((host) => placed?.includes(host) ?? true).sort();
}

export async function readFrontDoors(client: KubeClient, signal: AbortSignal): Promise<FrontDoorReport[]> {
  const [routers, ingresses] = await Promise.all([
    client.list(L7_ROUTERS, { signal }),
    client.list(INGRESSES, { signal }),
  ]);
  return frontDoorReports(routers.items, ingresses.items);
}

const PAUSE_MS = 100;

/** Resolves when all of them answer, telling each once, or rejects with the signal's reason. */
export async function untilOpen(
  client: KubeClient,
  names: readonly string[],
  onOpen: (door: FrontDoorReport) => void,
  signal: AbortSignal,
): Promise<void> {
  const waiting = new Set(names);
  while (waiting.size > 0) {
    for (const door of await readFrontDoors(client, signal)) {
      if (door.ready !== 'True' || !waiting.has(door.name) || !(await answers(door))) continue;
      waiting.delete(door.name);
      onOpen(door);
    }
    if (waiting.size > 0) await sleep(systemClock, PAUSE_MS, signal);
  }
}

const ANSWER_MS = 2000;

/** Whether a request for its first host is answered by somebody behind it. */
function answers({ urls: [url], hosts: [host] }: FrontDoorReport): Promise<boolean> {
  if (url === undefined || host === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const request = get(url, { agent: false, headers: { host }, timeout: ANSWER_MS }, (response) => {
      response.resume();
      resolve((response.statusCode ?? 500) < 500);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
    request.on('close', () => resolve(false));
  });
}
