/** Computes the endpoints that the slices of a Service must contain. Pure functions. */

import type { Node, Pod, Service } from '@tidegate/kube';
import type { Endpoint, EndpointPort } from 'kubernetes-types/discovery/v1.d.ts';
import { isReady, isTerminating } from '../pods/index.ts';
import { addressOf, hostnameIn, isTerminal, referenceTo, targetPortOf } from './pod.ts';

/** Endpoints with the same ports: a slice has one list of ports for all its endpoints. */
export interface SliceGroup {
  addressType: 'IPv4' | 'IPv6';
  ports: EndpointPort[];
  endpoints: Endpoint[];
}

export const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** `forNodes` is newer than the type definitions. */
type Hints = Endpoint['hints'] & { forNodes?: { name: string }[] };

/** A Service without endpoints still has one slice, so that readers can distinguish "none" from "not known yet". */
const EMPTY: SliceGroup = { addressType: 'IPv4', ports: [], endpoints: [] };

/**
 * The endpoints of all pods, grouped by their ports. Pods that resolve a named port differently are in different
 * groups.
 */
export function wantedGroups(
  service: Service,
  pods: readonly Pod[],
  nodeNamed: (name: string) => Node | undefined,
): SliceGroup[] {
  const groups = new Map<string, SliceGroup>();
  for (const pod of pods) {
    const endpoint = endpointOf(service, pod, nodeNamed(pod.spec?.nodeName ?? ''));
    if (endpoint === undefined) continue;
    const ports = portsOf(service, pod);
    const key = portsKey(ports);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { addressType: 'IPv4', ports, endpoints: [endpoint] });
    else group.endpoints.push(endpoint);
  }
  return groups.size === 0 ? [EMPTY] : [...groups.values()];
}

/** The same key for the same ports in any order. */
export const portsKey = (ports: readonly EndpointPort[]): string =>
  ports
    .map(({ name = '', port, protocol = 'TCP', appProtocol }) => [name, port, protocol, appProtocol].join())
    .sort()
    .join(';');

function portsOf(service: Service, pod: Pod): EndpointPort[] {
  return (service.spec?.ports ?? []).flatMap((servicePort) => {
    const port = targetPortOf(pod, servicePort);
    if (port === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = servicePort;
    return [{ name, port, protocol, ...(appProtocol !== undefined && { appProtocol }) }];
  });
}

/**
 * The endpoint of a pod; undefined if it must not be published. `serving` is readiness alone, `ready` also excludes
 * terminating pods (KEP-1672).
 */
function endpointOf(service: Service, pod: Pod, node: Node | undefined): Endpoint | undefined {
  const address = addressOf(pod);
  const publishAlways = service.spec?.publishNotReadyAddresses === true;
  if (address === undefined || isTerminal(pod)) return undefined;
  // No kubelet will report the end of a pod whose node is gone.
  if (node === undefined && !publishAlways) return undefined;
  const serving = isReady(pod);
  const terminating = isTerminating(pod);
  const ready = publishAlways || (serving && !terminating);
  const nodeName = pod.spec?.nodeName;
  const zone = node?.metadata.labels?.[ZONE_LABEL];
  const hostname = hostnameIn(service, pod);
  const hints = ready ? hintsFor(service, zone, nodeName) : undefined;
  return {
    addresses: [address],
    conditions: { ready, serving, terminating },
    targetRef: referenceTo(pod),
    ...(nodeName && { nodeName }),
    ...(zone && { zone }),
    ...(hostname !== undefined && { hostname }),
    ...(hints !== undefined && { hints }),
  };
}

/** Hints name the zone or node for which an endpoint is meant, when the Service asks for local traffic. */
function hintsFor(
  service: Service,
  zone: string | undefined,
  nodeName: string | undefined,
): Hints | undefined {
  const distribution = service.spec?.trafficDistribution;
  if (!['PreferClose', 'PreferSameZone', 'PreferSameNode'].includes(distribution ?? '')) return undefined;
  const hints: Hints = {
    ...(zone && { forZones: [{ name: zone }] }),
    ...(nodeName && distribution === 'PreferSameNode' && { forNodes: [{ name: nodeName }] }),
  };
  return Object.keys(hints).length === 0 ? undefined : hints;
}
