import { ALL_HOSTS } from '../../api/index.ts';
import type { HostName } from '../model.ts';
import type { Ownership } from '../ownership/index.ts';

/**
 * The recorded claims to a host of a class that end. A claim stays as long as an Ingress of its namespace names the host
 * and the policy of the class allows it. Nothing else ends it: not an older Ingress, and not a later claim to a wildcard
 * above the host. Of several claims to a host, the first stays; pass the earliest first.
 */
export function endedClaims(
  host: HostName,
  recorded: readonly Ownership[],
  isWanted: (namespace: string) => boolean,
): Ownership[] {
  const wanted = recorded.filter(({ namespace }) => isWanted(namespace));
  const kept = host === ALL_HOSTS ? wanted : wanted.slice(0, 1);
  return recorded.filter((claim) => !kept.includes(claim));
}

/**
 * The namespaces that get a claim to the host: the one that has waited longest, or, for rules without a host, all.
 * `namespaces` is in this order. `isFree`: neither the policy nor another claim prevents it.
 */
export function newOwners(
  host: HostName,
  namespaces: readonly string[],
  kept: readonly Ownership[],
  isFree: (namespace: string) => boolean,
): string[] {
  if (host !== ALL_HOSTS) {
    const next = kept.length === 0 ? namespaces.find(isFree) : undefined;
    return next === undefined ? [] : [next];
  }
  const have = new Set(kept.map(({ namespace }) => namespace));
  return namespaces.filter((namespace) => !have.has(namespace) && isFree(namespace));
}
