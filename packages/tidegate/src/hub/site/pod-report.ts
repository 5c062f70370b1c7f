import { BlockList, isIP, isIPv6 } from 'node:net';
import type { Pod } from '@tidegate/kube';

/** What matters of a pod for the endpoints of Services, as its kubelet reports it. */
export interface PodReport {
  /** The addresses of the pod. Empty: it has none at the moment. */
  readonly ips: readonly string[];
  readonly ready: boolean;
  readonly terminating: boolean;
}

/** Undefined for a pod that has finished: it is not an endpoint of any Service. */
export function reportOf({ metadata, status = {} }: Pod): PodReport | undefined {
  const { phase, podIP, podIPs = [], conditions = [] } = status;
  if (phase === 'Succeeded' || phase === 'Failed') return undefined;
  const ips = podIPs.flatMap(({ ip }) => ip ?? []);
  return {
    ips: ips.length > 0 || podIP === undefined || podIP === '' ? ips : [podIP],
    ready: conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
    terminating: metadata.deletionTimestamp !== undefined,
  };
}

/** Addresses that mean something else on each machine. API servers do not accept them in endpoints. */
const SPECIAL = new BlockList();
SPECIAL.addSubnet('0.0.0.0', 8, 'ipv4');
SPECIAL.addSubnet('127.0.0.0', 8, 'ipv4');
SPECIAL.addSubnet('169.254.0.0', 16, 'ipv4');
SPECIAL.addSubnet('224.0.0.0', 4, 'ipv4');
SPECIAL.addAddress('255.255.255.255', 'ipv4');
SPECIAL.addSubnet('::', 127, 'ipv6');
SPECIAL.addSubnet('fe80::', 10, 'ipv6');
SPECIAL.addSubnet('ff00::', 8, 'ipv6');

const isSpecial = (ip: string): boolean => SPECIAL.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4');

/**
 * The address of the pod that replaces `heard`, the address that the API server sent; of the same family. A node must not
 * lead clients to themselves or to a metadata service: a special address counts only if the one that the API server has
 * accepted is special, too, as in a cluster on one machine.
 */
export const addressFor = ({ ips }: PodReport, heard: string): string | undefined =>
  ips.find((ip) => isIP(ip) === isIP(heard) && (!isSpecial(ip) || isSpecial(heard)));

export const sameReport = (a: PodReport | undefined, b: PodReport | undefined): boolean =>
  a === b ||
  (a !== undefined &&
    b !== undefined &&
    a.ready === b.ready &&
    a.terminating === b.terminating &&
    `${a.ips}` === `${b.ips}`);
