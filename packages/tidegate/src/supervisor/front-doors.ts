/** Where requests come in: the routers of the cluster, and whether they answer. */
import { isIPv6 } from 'node:net';
import { getCondition, type KubeClient, sleep, systemClock } from '@tidegate/kube';
import type { L7Router, RouterAddress } from '../api/index.ts';
import { ask } from './http.ts';
import { readObjects } from './objects.ts';
import type { RouterReport } from './routers.ts';
import { type RouteReport, routeReports } from './routes.ts';

export interface FrontDoorReport extends FrontDoor {
  /** Its pods, asked one by one. */
  routers: RouterReport[];
}

export interface FrontDoor {
  /** That of its L7Router. */
  name: string;
  ingressClass: string;
  /** Absent when it serves all of the cluster. */
  pool?: string;
  /** As the API server knows it: of a pool whose link is cut that is not the latest. */
  ready: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  /** Where it takes http, such as `http://127.64.0.1:30080`. */
  urls: string[];
  hosts: string[];
  rules: number;
  /** How many things Ingresses of its class get wrong. */
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

function urlOf({ ip, hostname, ports }: RouterAddress): string[] {
  const host = ip !== undefined && isIPv6(ip) ? `[${ip}]` : (ip ?? hostname);
  // The first one is for http, the second for https.
  const port = ports?.[0]?.port;
  return host === undefined || port === undefined ? [] : [`http://${host}:${port}`];
}

/** One that a request can be tried at. */
export function tryOut({ urls, hosts }: FrontDoor): { url: string; host: string } | undefined {
  const [url] = urls;
  const host = hosts.find((name) => !name.startsWith('*'));
  return url === undefined || host === undefined ? undefined : { url, host };
}

export async function readFrontDoors(client: KubeClient): Promise<FrontDoor[]> {
  const seen = await readObjects(client);
  return seen === undefined ? [] : frontDoors(seen.routers, routeReports(seen.ingresses, seen.routers));
}

const PAUSE_MS = 100;

/** Resolves when all of them answer, telling each once, or rejects with the signal's reason. */
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

async function isOpen(door: FrontDoor): Promise<boolean> {
  const target = tryOut(door);
  if (target === undefined) return false;
  const answer = await ask(target.url, target.host);
  return answer !== undefined && answer.status < 500;
}
