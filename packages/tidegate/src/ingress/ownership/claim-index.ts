import { SetsByKey } from '@tidegate/kube';
import { ALL_HOSTS, type HostClaim } from '../../api/index.ts';
import { wildcardsAbove } from '../match/host.ts';
import type { HostName } from '../model.ts';

/** A recorded claim: a namespace has a host of a class. */
export interface Ownership {
  /** Name of the HostClaim. */
  readonly name: string;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly className: string;
  /** As in the HostClaim: `*` stands for rules without a host. */
  readonly host: HostName;
  readonly namespace: string;
  /** As written, for messages. */
  readonly since: string;
  /** As written. Undefined while an Ingress of the namespace names the host. */
  readonly reservedUntil: string | undefined;
}

export const ownershipOf = ({ metadata, spec }: HostClaim): Ownership => ({
  name: `${metadata.name}`,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  className: spec.ingressClassName,
  host: spec.host,
  namespace: spec.namespace,
  since: spec.since,
  reservedUntil: spec.reservedUntil,
});

/** The earliest claim first. Equal times are ordered by class and name, so that all programs decide in the same way. */
const compareClaims = (a: Ownership, b: Ownership): number =>
  timeOf(a) - timeOf(b) || compareText(a.className, b.className) || compareText(a.name, b.name);

/** A claim without a valid time counts as the latest. */
function timeOf({ since }: Ownership): number {
  const time = Date.parse(since);
  return Number.isNaN(time) ? Number.MAX_SAFE_INTEGER : time;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a !== b));

/**
 * The recorded claims. Admission, the manager and every router decide with this class, so they agree. Classes that share an
 * address share their hosts: of their claims to a host, the earliest counts.
 */
export class ClaimIndex {
  readonly #byName = new Map<string, Ownership>();
  readonly #ofHost = new SetsByKey();
  /** Names of reserved claims, by namespace. */
  readonly #reserved = new SetsByKey();

  get(name: string): Ownership | undefined {
    return this.#byName.get(name);
  }

  put(claim: Ownership): void {
    this.remove(claim.name);
    this.#byName.set(claim.name, claim);
    this.#ofHost.add(claim.host, claim.name);
    if (claim.reservedUntil !== undefined) this.#reserved.add(claim.namespace, claim.name);
  }

  /** With a uid, the claim is removed only if it is still the same object. */
  remove(name: string, uid?: string): Ownership | undefined {
    const claim = this.#byName.get(name);
    if (claim === undefined || (uid !== undefined && claim.uid !== undefined && claim.uid !== uid))
      return undefined;
    this.#byName.delete(name);
    this.#ofHost.delete(claim.host, name);
    this.#reserved.delete(claim.namespace, name);
    return claim;
  }

  /** How many hosts are reserved for the namespace. */
  reservedFor(namespace: string): number {
    return this.#reserved.get(namespace).size;
  }

  values(): Iterable<Ownership> {
    return this.#byName.values();
  }

  /** The claims of these classes to exactly this host, the earliest first. */
  claimsTo(host: HostName, classNames: readonly string[]): Ownership[] {
    return [...this.#ofHost.get(host)]
      .flatMap((name) => this.#byName.get(name) ?? [])
      .filter(({ className }) => classNames.includes(className))
      .sort(compareClaims);
  }

  /** The claim that decides the owner of exactly this host. */
  holderOf(host: HostName, classNames: readonly string[]): Ownership | undefined {
    return host === ALL_HOSTS || host === '' ? undefined : this.claimsTo(host, classNames)[0];
  }

  /** The claims to wildcards above the host, the nearest first. */
  holdersAbove(host: HostName, classNames: readonly string[]): Ownership[] {
    return wildcardsAbove(host).flatMap((wildcard) => this.holderOf(wildcard, classNames) ?? []);
  }

  /** The claims of namespaces that may have rules without a host, the earliest first. */
  sharers(classNames: readonly string[]): Ownership[] {
    return this.claimsTo(ALL_HOSTS, classNames);
  }
}
