import { isIP } from 'node:net';
import type { Upstream } from '../../../ingress/model.ts';
import type { HealthCheck, Target, TargetGroup } from './state.ts';

/**
 * The target group of an upstream. Undefined if AWS has no target group that behaves like this: one of HTTP or HTTPS, with
 * addresses of one family.
 */
export function groupOf(upstream: Upstream, health: HealthCheck): TargetGroup | undefined {
  const { id, protocol, balance, endpoints } = upstream;
  const families = new Set(endpoints.map(({ address }) => isIP(address)));
  if (protocol === 'grpc' || balance === 'ewma' || families.has(0) || families.size > 1) return undefined;
  const family = families.has(6) ? 'ipv6' : 'ipv4';
  const targets = new Map(
    endpoints.map(({ address, port }) => {
      const target = { address: address.toLowerCase(), port };
      return [targetText(target), target];
    }),
  );
  return {
    // Endpoints of the other family need another target group, because AWS does not change the family of one.
    id: family === 'ipv6' ? `${id}@ipv6` : id,
    protocol: protocol === 'https' ? 'HTTPS' : 'HTTP',
    family,
    algorithm: balance === 'leastConnections' ? 'least_outstanding_requests' : 'round_robin',
    health,
    targets: [...targets.values()].sort(compareTargets),
  };
}

export const targetText = ({ address, port }: Target): string => `${address} ${port}`;

export const compareTargets = (a: Target, b: Target): number => (targetText(a) < targetText(b) ? -1 : 1);
