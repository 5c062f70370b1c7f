/** The routers of the cluster, and where requests come in. Pure functions. */
import { isIPv6 } from 'node:net';
import { getCondition } from '@tidegate/kube';
import type { L7Router, RouterAddress } from '../api/index.ts';
import { isOwnProgram } from '../ingress/classes/index.ts';
import type { RouteReport } from './routes.ts';

export interface FrontDoor {
  /** The name of its L7Router. */
  name: string;
  /** The UID of its L7Router, which its router confirms. Absent if the router is another program. */
  identity?: string;
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
  routers.map(({ metadata: { name = '', uid }, spec, status }) => {
    const ready = getCondition(status?.conditions, 'Ready');
    const served = routes.filter((route) => route.frontDoors.includes(name));
    return {
      name,
      ...(isOwnProgram(spec.driver) && { identity: uid }),
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
