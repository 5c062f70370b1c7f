/** Computes the endpoints of the slices that mirror an Endpoints object. Pure functions. */
import { isIP } from 'node:net';
import type { Endpoints } from '@tidegate/kube';
import type { EndpointAddress } from 'kubernetes-types/core/v1.d.ts';
import type { Endpoint } from 'kubernetes-types/discovery/v1.d.ts';
import { portsKey, type SliceGroup } from './slice-groups.ts';
import { TRIGGER_TIME } from './slice-plan.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Subsets with the same ports become one group. Endpoints beyond the limit are dropped. */
export function mirroredGroups({ subsets = [] }: Endpoints, maxEndpoints: number): SliceGroup[] {
  const groups = new Map<string, SliceGroup>();
  for (const { addresses = [], notReadyAddresses = [], ports: subsetPorts = [] } of subsets) {
    const ports = subsetPorts.map((port) => ({
      ...port,
      name: port.name ?? '',
      protocol: port.protocol ?? 'TCP',
    }));
    const add = (address: EndpointAddress, ready: boolean): void => {
      const addressType = isIP(address.ip) === 6 ? 'IPv6' : 'IPv4';
      const key = `${addressType} ${portsKey(ports)}`;
      const group = groups.get(key) ?? { addressType, ports, endpoints: [] };
      groups.set(key, group);
      if (group.endpoints.length < maxEndpoints) group.endpoints.push(toEndpoint(address, ready));
    };
    for (const address of addresses) add(address, true);
    for (const address of notReadyAddresses) add(address, false);
  }
  return [...groups.values()];
}

/**
 * All annotations except the trigger time and kubectl's last-applied configuration, which describe the original
 * only.
 */
export function mirroredAnnotations({ metadata }: Endpoints): Record<string, string> {
  const { [TRIGGER_TIME]: _, [LAST_APPLIED]: __, ...annotations } = metadata.annotations ?? {};
  return annotations;
}

const toEndpoint = ({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint => ({
  addresses: [ip],
  conditions: { ready },
  ...(hostname && { hostname }),
  ...(nodeName && { nodeName }),
  ...(targetRef && { targetRef }),
});
