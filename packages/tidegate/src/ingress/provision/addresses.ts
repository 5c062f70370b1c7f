/** At which addresses clients reach a router. Pure. */

import type { Node, Service } from '@tidegate/kube';
import type { RouterAddress } from '../../api/index.ts';

/**
 * Addresses of a router. External IPs of its Service win; otherwise they depend on the type of the Service. A NodePort
 * Service is reported at `nodes`, the nodes that run its ready pods.
 */
export function addressesOf(service: Service | undefined, nodes: readonly Node[]): RouterAddress[] {
  if (service === undefined) return [];
  const { type, externalIPs = [], clusterIP } = service.spec ?? {};
  const given = externalIPs.map((ip) => ({ ip, ports: portsOf(service, 'port') }));
  if (given.length > 0) return given;
  if (type === 'LoadBalancer') {
    const balanced = service.status?.loadBalancer?.ingress ?? [];
    return balanced.map(({ ip, hostname }) => ({
      ...(ip !== undefined && { ip }),
      ...(hostname !== undefined && { hostname }),
      ports: portsOf(service, 'port'),
    }));
  }
  if (type === 'NodePort') {
    const ips = [...new Set(nodes.flatMap((node) => addressOfNode(node) ?? []))].sort();
    return ips.map((ip) => ({ ip, ports: portsOf(service, 'nodePort') }));
  }
  return clusterIP === undefined || clusterIP === 'None' || clusterIP === ''
    ? []
    : [{ ip: clusterIP, ports: portsOf(service, 'port') }];
}

const portsOf = ({ spec }: Service, which: 'port' | 'nodePort'): { port: number; protocol: string }[] =>
  (spec?.ports ?? []).flatMap(({ [which]: port, protocol = 'TCP' }) =>
    port === undefined ? [] : [{ port, protocol }],
  );

/** The external IP address of the node, or else the internal one. */
function addressOfNode({ status }: Node): string | undefined {
  const addresses = status?.addresses ?? [];
  const found = ['ExternalIP', 'InternalIP'].map((type) => addresses.find((each) => each.type === type));
  return (found[0] ?? found[1])?.address;
}
