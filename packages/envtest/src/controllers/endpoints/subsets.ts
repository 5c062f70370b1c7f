/** Computes the subsets of the Endpoints object of a Service, the older form of the same content. Pure functions. */

import type { Pod, Service } from '@tidegate/kube';
import type { EndpointAddress, EndpointPort, EndpointSubset } from 'kubernetes-types/core/v1.d.ts';
import { isReady, isTerminating } from '../pods/index.ts';
import { addressOf, hostnameIn, isTerminal, referenceTo, targetPortOf } from './pod.ts';

/** The limit of kube-controller-manager for one Endpoints object. EndpointSlices have no such limit in total. */
export const MAX_ADDRESSES = 1000;

interface Member {
  address: EndpointAddress;
  ready: boolean;
  ports: Map<string, EndpointPort>;
}

/** Ports on which the same pods listen share a subset. */
export function wantedSubsets(service: Service, pods: readonly Pod[]): EndpointSubset[] {
  const members = pods.flatMap((pod) => memberOf(service, pod) ?? []);
  members.sort((a, b) => compare(a.address.ip, b.address.ip) || compare(uidOf(a), uidOf(b)));
  if ((service.spec?.ports ?? []).length === 0) return members.length === 0 ? [] : [subsetOf(members, [])];
  const ports = new Map(members.flatMap((member) => [...member.ports]));
  const subsets = new Map<string, { members: Member[]; ports: EndpointPort[] }>();
  for (const [key, port] of [...ports].sort(([a], [b]) => compare(a, b))) {
    const listening = members.filter((member) => member.ports.has(key));
    const id = listening.map(uidOf).join();
    const subset = subsets.get(id);
    if (subset === undefined) subsets.set(id, { members: listening, ports: [port] });
    else subset.ports.push(port);
  }
  return [...subsets.values()].map((subset) => subsetOf(subset.members, subset.ports));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const uidOf = ({ address }: Member): string => address.targetRef?.uid ?? '';

function memberOf(service: Service, pod: Pod): Member | undefined {
  const ip = addressOf(pod);
  const publishAlways = service.spec?.publishNotReadyAddresses === true;
  if (ip === undefined || isTerminal(pod)) return undefined;
  if (isTerminating(pod) && !publishAlways) return undefined;
  const hostname = hostnameIn(service, pod);
  const address: EndpointAddress = {
    ip,
    nodeName: pod.spec?.nodeName ?? '',
    targetRef: referenceTo(pod),
    ...(hostname !== undefined && { hostname }),
  };
  const ports = new Map<string, EndpointPort>();
  for (const servicePort of service.spec?.ports ?? []) {
    const port = targetPortOf(pod, servicePort);
    if (port === undefined) continue;
    const { name, protocol = 'TCP', appProtocol } = servicePort;
    const endpointPort = {
      ...(name && { name }),
      port,
      protocol,
      ...(appProtocol !== undefined && { appProtocol }),
    };
    ports.set(JSON.stringify([name ?? '', port, protocol, appProtocol]), endpointPort);
  }
  return { address, ready: publishAlways || isReady(pod), ports };
}

function subsetOf(members: readonly Member[], ports: EndpointPort[]): EndpointSubset {
  const addresses = members.filter(({ ready }) => ready).map(({ address }) => address);
  const notReadyAddresses = members.filter(({ ready }) => !ready).map(({ address }) => address);
  return {
    ...(addresses.length > 0 && { addresses }),
    ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
    ...(ports.length > 0 && { ports }),
  };
}

/** Limits the size of the object: keeps ready addresses first, and shortens all subsets in proportion. */
export function truncateSubsets(subsets: readonly EndpointSubset[]): {
  subsets: EndpointSubset[];
  isTruncated: boolean;
} {
  const count = (field: 'addresses' | 'notReadyAddresses'): number =>
    subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0);
  const ready = count('addresses');
  if (ready + count('notReadyAddresses') <= MAX_ADDRESSES)
    return { subsets: [...subsets], isTruncated: false };
  if (ready > MAX_ADDRESSES) {
    const readyOnly = subsets.map(({ notReadyAddresses: _, ...subset }) => subset);
    return { subsets: share(readyOnly, 'addresses', MAX_ADDRESSES), isTruncated: true };
  }
  return { subsets: share(subsets, 'notReadyAddresses', MAX_ADDRESSES - ready), isTruncated: true };
}

function share(
  subsets: readonly EndpointSubset[],
  field: 'addresses' | 'notReadyAddresses',
  room: number,
): EndpointSubset[] {
  const total = subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0);
  let left = room;
  const cut = subsets.map(({ [field]: all = [], ...subset }): EndpointSubset => {
    const some = all.slice(0, Math.min(left, Math.ceil((all.length / total) * room)));
    left -= some.length;
    return { ...subset, ...(some.length > 0 && { [field]: some }) };
  });
  // A subset without addresses is invalid.
  return cut.filter(({ addresses, notReadyAddresses }) => addresses || notReadyAddresses);
}
