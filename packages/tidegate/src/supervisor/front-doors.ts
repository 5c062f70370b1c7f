/** The routers of the cluster, and where requests come in. Pure functions. */
import { isIPv6 } from 'node:net';
import { getCondition } from '@tidegate/kube';
import { type L7Router, type RouterAddress, sectionPorts } from '../api/index.ts';
import { isOwnProgram, isWorkloadDriver } from '../ingress/classes/index.ts';
import { podsKeyOf } from '../ingress/provision/identity.ts';
import type { RouteReport } from './routes.ts';

export interface FrontDoor {
  /** The name of its L7Router. */
  name: string;
  /** The UID of its L7Router, which its router confirms. Absent if the router is another program. */
  identity?: string;
  /** Its pods, if it shares them with other routers, and the port that they serve it on. */
  sharedPods?: { label: string; port: number };
  ingressClass: string;
  /** Absent when the router serves the whole cluster. */
  pool?: string;
  /** The Ready condition in the API server. It is out of date while the link of the pool is cut. */
  ready: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  /** The driver of a load balancer that does not run in the cluster. It is not queried. */
  elsewhere?: string;
  /** Its HTTP addresses, for example `http://127.64.0.1:30080`. */
  urls: string[];
  hosts: string[];
  rules: number;
  /** The number of problems found in Ingresses of its class. */
  problems: number;
}

export const frontDoors = (routers: readonly L7Router[], routes: readonly RouteReport[]): FrontDoor[] =>
  routers.map((router) => {
    const {
      metadata: { name = '', uid },
      spec,
      status,
    } = router;
    const ready = getCondition(status?.conditions, 'Ready');
    const served = routes.filter((route) => route.frontDoors.includes(name));
    return {
      name,
      ...(isOwnProgram(spec.driver) && { identity: uid }),
      ...(!isWorkloadDriver(spec.driver) && { elsewhere: spec.driver }),
      ...(isOwnProgram(spec.driver) && sharedPodsOf(router)),
      ingressClass: spec.ingressClassName,
      pool: spec.pool,
      ready: ready?.status ?? 'Unknown',
      reason: ready?.reason,
      message: ready?.message,
      urls: (status?.addresses ?? []).flatMap(isWorkloadDriver(spec.driver) ? urlOf : urlElsewhere),
      hosts: [...new Set(served.map(({ host }) => host))].sort(),
      rules: served.length,
      problems: status?.problemCount ?? 0,
    };
  });

function sharedPodsOf(router: L7Router): Pick<FrontDoor, 'sharedPods'> {
  const { sharedPods, section } = router.spec.workload ?? {};
  if (sharedPods === undefined || section === undefined) return {};
  return { sharedPods: { label: podsKeyOf(router), port: sectionPorts(section).http } };
}

/** The URL of an address; none until its host and port are known. */
function urlOf({ ip, hostname, ports }: RouterAddress): string[] {
  const host = ip !== undefined && isIPv6(ip) ? `[${ip}]` : (ip ?? hostname);
  // The first port is HTTP, the second is HTTPS.
  const port = ports?.[0]?.port;
  return host === undefined || port === undefined ? [] : [`http://${host}:${port}`];
}

/** A load balancer elsewhere uses the usual ports. */
const urlElsewhere = (address: RouterAddress): string[] =>
  urlOf({ ports: [{ port: 80, protocol: 'TCP' }], ...address }).map((url) => url.replace(/:80$/, ''));

/** A request that the front door should route, or undefined when it has no address or no exact host yet. */
export function sampleRequest({
  urls,
  hosts,
  elsewhere,
}: FrontDoor): { url: string; host: string } | undefined {
  if (elsewhere !== undefined) return undefined;
  const [url] = urls;
  const host = hosts.find((name) => !name.startsWith('*'));
  return url === undefined || host === undefined ? undefined : { url, host };
}

/** Reads all front doors. The list is empty while the API server is unreachable or has no L7Routers. */
