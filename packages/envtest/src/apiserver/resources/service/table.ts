/** The cells of `kubectl get services`. */
import type { LoadBalancerIngress, Service } from './types.ts';

export function externalIPs({ spec, status }: Service): string {
  const own = spec.externalIPs ?? [];
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return own.length > 0 ? own.join(',') : '<none>';
    case 'LoadBalancer': {
      const all = [...loadBalancerAddresses(status.loadBalancer?.ingress), ...own];
      return all.length > 0 ? all.join(',') : '<pending>';
    }
    case 'ExternalName':
      return spec.externalName ?? '';
    default:
      return '<unknown>';
  }
}

export function loadBalancerAddresses(ingress: LoadBalancerIngress[] | undefined): string[] {
  const addresses = (ingress ?? []).map(({ ip, hostname }) => ip || hostname || '');
  return [...new Set(addresses.filter((address) => address !== ''))].sort();
}

export function portList({ spec }: Service): string {
  const ports = (spec.ports ?? []).map(({ port = 0, nodePort = 0, protocol = '' }) =>
    nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return ports.length === 0 ? '<none>' : ports.join(',');
}
