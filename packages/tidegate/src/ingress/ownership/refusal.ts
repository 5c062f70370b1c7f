import { ALL_HOSTS, type IngressClassPolicy } from '../../api/index.ts';
import type { HostName } from '../model.ts';
import type { ClaimIndex, Ownership } from './claim-index.ts';
import { publicSuffixBelow } from './public-suffix.ts';

/** Why a namespace cannot have a host. */
export interface Refusal {
  readonly reason: 'HostConflict' | 'HostNotAllowed';
  /** A sentence for the author of the Ingress. */
  readonly message: string;
}

/** A namespace that wants a host of a class. */
export interface Wish {
  readonly className: string;
  /** The class, and the classes that share its address. */
  readonly classNames: readonly string[];
  /** As in a HostClaim: `*` stands for rules without a host. */
  readonly host: HostName;
  readonly namespace: string;
}

type Policy = IngressClassPolicy['spec'] | undefined;

/** Decides whether the namespace may have the host. Undefined: it may. Pure; admission and the manager use it. */
export function refusalOf(wish: Wish, claims: ClaimIndex, policy: Policy): Refusal | undefined {
  return policyRefusal(wish, policy) ?? conflictOf(wish, claims, policy);
}

/** What the policy of the class forbids, whatever is claimed already. */
export function policyRefusal(wish: Wish, policy: Policy): Refusal | undefined {
  return suffixRefusal(wish, policy) ?? allowanceRefusal(wish, policy);
}

function suffixRefusal({ className, host, namespace }: Wish, policy: Policy): Refusal | undefined {
  const suffix = policy?.publicSuffixWildcards === 'Allow' ? undefined : publicSuffixBelow(host);
  if (suffix === undefined) return undefined;
  const message = `Namespace ${namespace} may not use host ${host} with IngressClass ${className}: ${suffix} is a public suffix, and the wildcard would cover the hosts of others. Name the hosts, or ask an administrator to set publicSuffixWildcards: Allow in IngressClassPolicy ${className}.`;
  return { reason: 'HostNotAllowed', message };
}

function allowanceRefusal({ className, host, namespace }: Wish, policy: Policy): Refusal | undefined {
  if (policy?.allow === undefined) return undefined;
  const own = policy.allow.filter(({ namespaces }) => namespaces.includes(namespace));
  if (own.some(({ hosts = [ALL_HOSTS] }) => hosts.some((pattern) => covers(pattern, host)))) return undefined;
  const message =
    own.length === 0
      ? `Namespace ${namespace} may not use IngressClass ${className}: IngressClassPolicy ${className} does not allow it. Use another class, or ask an administrator.`
      : `Namespace ${namespace} may not use ${described(host)} with IngressClass ${className}: IngressClassPolicy ${className} allows ${own.flatMap(({ hosts = [] }) => hosts).join(', ')}.`;
  return { reason: 'HostNotAllowed', message };
}

/** A pattern covers itself. A wildcard also covers everything below it, and `*` covers all hosts. */
const covers = (pattern: string, host: HostName): boolean =>
  pattern === ALL_HOSTS || pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));

function conflictOf({ host, classNames, namespace }: Wish, claims: ClaimIndex, policy: Policy) {
  if (host === ALL_HOSTS) return undefined;
  const holder = claims.holderOf(host, classNames);
  if (holder !== undefined) return holder.namespace === namespace ? undefined : hostConflict(host, holder);
  if (policy?.hostsBelowWildcards === 'Share') return undefined;
  const above = claims.holdersAbove(host, classNames).find((claim) => claim.namespace !== namespace);
  return above && belowConflict(host, above);
}

export const hostConflict = (host: HostName, holder: Ownership): Refusal => ({
  reason: 'HostConflict',
  message: `Host ${host} ${ownedBy(holder)}`,
});

const belowConflict = (host: HostName, above: Ownership): Refusal => ({
  reason: 'HostConflict',
  message: `Host ${host} is below ${above.host}, which ${ownedBy(above)}`,
});

const ownedBy = ({ name, namespace, since, reservedUntil }: Ownership): string =>
  reservedUntil === undefined
    ? `belongs to namespace ${namespace} since ${since}. An Ingress of another namespace cannot use it.`
    : `is reserved for namespace ${namespace} until ${reservedUntil}, because it belonged to this namespace. To end that, an administrator can delete HostClaim ${name}.`;

const described = (host: HostName): string => (host === ALL_HOSTS ? 'rules without a host' : `host ${host}`);
