/** The routers of the cluster, where requests come in, and whether they respond. */
import { isIPv6 } from 'node:net';
import { getCondition, type KubeClient, sleep, systemClock } from '@tidegate/kube';
import type { L7Router, RouterAddress } from '../api/index.ts';
import { httpGet } from './http.ts';
import { readObjects } from './objects.ts';
import type { RouterReport } from './routers.ts';
import { type RouteReport, routeReports } from './routes.ts';

/** A front door and the state of its pods. */
export interface FrontDoorReport extends FrontDoor {
  /** Its pods, each queried directly. */
  routers: RouterReport[];
}

/** A front door as its objects describe it. */
export interface FrontDoor {
  /** The name of its L7Router. */
  name: string;
  ingressClass: string;
  /** Absent when the router serves the whole cluster. */
  pool?: string;
  /** The Ready condition in the API server. It is out of date while the link of the pool is cut. */
  ready: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  /** Its HTTP addresses, for example `http://127.64.0.1:30080`. */
  urls: string[];
  hosts: string[];
  rules: number;
  /** The number of problems found in Ingresses of its class. */
  problems: number;
}

export const frontDoors = (routers: readonly L7Router[], routes: readonly RouteReport[]): FrontDoor[] =>
  routers.map(({ metadata: { name = '' }, spec, status }) => {
    const ready = getCondition(status?.conditions, 'Ready');
    const served = routes.filter((route) => route.frontDoors.includes(name));
    return {
      name,
      ingressClass: spec.ingressClassName,
      pool: spec.pool,
      ready: ready?.status ?? 'Unknown',
      reason: ready?.reason,
      message: ready?.message,
      urls: (status?.addresses ?? []).flatMap(urlOf),
      hosts: [...new Set(served.map(({ host }) => host))].sort(),
      rules: served.length,
      problems: status?.problemCount ?? 0,
    };
  });

/** The URL of an address; none until its host and port are known. */
function urlOf({ ip, hostname, ports }: RouterAddress): string[] {
  const host = ip !== undefined && isIPv6(ip) ? `[${ip}]` : (ip ?? hostname);
  // The first port is HTTP, the second is HTTPS.
  const port = ports?.[0]?.port;
  return host === undefined || port === undefined ? [] : [`http://${host}:${port}`];
}

/** A request that the front door should route, or undefined when it has no address or no exact host yet. */
export function sampleRequest({ urls, hosts }: FrontDoor): { url: string; host: string } | undefined {
  const [url] = urls;
  const host = hosts.find((name) => !name.startsWith('*'));
  return url === undefined || host === undefined ? undefined : { url, host };
}

/** Reads all front doors. The list is empty while the API server is unreachable or has no L7Routers. */
export async function readFrontDoors(client: KubeClient): Promise<FrontDoor[]> {
  const seen = await readObjects(client);
  return seen === undefined ? [] : frontDoors(seen.routers, routeReports(seen.ingresses, seen.routers));
}

const PAUSE_MS = 100;

/** Polls until every named front door responds; calls `onOpen` once for each. Rejects with the signal's reason. */
export async function untilOpen(
  client: KubeClient,
  names: readonly string[],
  onOpen: (door: FrontDoor) => void,
  signal: AbortSignal,
): Promise<void> {
  const waiting = new Set(names);
  while (waiting.size > 0) {
    for (const door of await readFrontDoors(client)) {
      if (!waiting.has(door.name) || !(await isOpen(door))) continue;
      waiting.delete(door.name);
      onOpen(door);
    }
    if (waiting.size > 0) await sleep(systemClock, PAUSE_MS, signal);
  }
}

/** A front door is open when its sample request gets a response other than a server error. */
async function isOpen(door: FrontDoor): Promise<boolean> {
  const target = sampleRequest(door);
  if (target === undefined) return false;
  const answer = await httpGet(target.url, target.host);
  return answer !== undefined && answer.status < 500;
}
