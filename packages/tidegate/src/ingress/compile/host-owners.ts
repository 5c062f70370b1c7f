import { isDeepStrictEqual } from 'node:util';
import { ALL_HOSTS, type HostClaim as ClaimObject } from '../../api/index.ts';
import { wildcardsAbove } from '../match/index.ts';
import type { HostName } from '../model.ts';
import { ClaimIndex, type Ownership, ownershipOf, type Refusal } from '../ownership/index.ts';
import type { HostClaim } from './facts.ts';
import { compareAge } from './ingress-facts.ts';

/** Explains why a namespace has no claim to a host. Undefined: its claim will be recorded soon. */
export type Explain = (host: HostName, namespace: string) => Refusal | undefined;

/** The claims of Ingresses to exactly this host. */
export type ClaimsTo = (host: HostName) => readonly HostClaim[];

/**
 * The owners of the hosts of the compiled classes, by the recorded claims. `required`: a host without a claim is not
 * served. If claims are not required, for example in a router without a manager, the oldest Ingress owns a host without a
 * claim, unless an older Ingress of another namespace has a wildcard above it.
 */
export class HostOwners {
  readonly required: boolean;
  readonly explain: Explain;
  /** Whether the Ingress has left the classes. It has what is claimed already, and waits for nothing more. */
  readonly isDeparting: (ingress: string) => boolean;
  #classNames: readonly string[];
  /** Classes that have left the address, with the time in milliseconds since the epoch. */
  #departed: ReadonlyMap<string, number> = new Map();
  readonly #claims = new ClaimIndex();

  constructor(
    classNames: readonly string[],
    required: boolean,
    isDeparting: (ingress: string) => boolean,
    explain: Explain = () => undefined,
  ) {
    this.#classNames = classNames;
    this.isDeparting = isDeparting;
    this.required = required;
    this.explain = explain;
  }

  /** Claims of all classes are kept, so nothing has to be put again. */
  setClassNames(classNames: readonly string[]): void {
    this.#classNames = classNames;
  }

  /**
   * Replaces the classes that have left the address. Their claims from the time before count, after those of the classes. Later
   * ones do not: they follow the policy and the wildcards of another address. Returns the hosts that are concerned.
   */
  setDeparted(departed: ReadonlyMap<string, number>): HostName[] {
    if (isDeepStrictEqual(departed, this.#departed)) return [];
    const counted = (): Ownership[] => [...this.#claims.values()].filter((claim) => this.#hasDeparted(claim));
    const before = counted();
    this.#departed = departed;
    return [...before, ...counted()].map(hostOf);
  }

  /** Returns the hosts that are concerned. */
  put(object: ClaimObject): HostName[] {
    const claim = ownershipOf(object);
    const before = this.remove(claim.name);
    this.#claims.put(claim);
    return this.#counts(claim) ? [...before, hostOf(claim)] : before;
  }

  /** Returns the hosts that are concerned. */
  remove(name: string): HostName[] {
    const claim = this.#claims.remove(name);
    return claim === undefined || !this.#counts(claim) ? [] : [hostOf(claim)];
  }

  #counts(claim: Ownership): boolean {
    return this.#classNames.includes(claim.className) || this.#hasDeparted(claim);
  }

  /** A claim without a valid time does not count. */
  #hasDeparted({ className, since }: Ownership): boolean {
    const end = this.#departed.get(className);
    return end !== undefined && Date.parse(since) <= end;
  }

  /** The recorded claim to exactly this host. */
  holderOf(host: HostName): Ownership | undefined {
    const holder = this.#claims.holderOf(host, this.#classNames);
    return holder ?? (host === '' ? undefined : this.#departedClaims(host)[0]);
  }

  #departedClaims(host: HostName): Ownership[] {
    if (this.#departed.size === 0) return [];
    return this.#claims
      .claimsTo(host, [...this.#departed.keys()])
      .filter((claim) => this.#hasDeparted(claim));
  }

  /** Namespace that owns exactly this host. Undefined for the empty name, and for hosts without a claim. */
  ownerOf(host: HostName, claimsTo: ClaimsTo): string | undefined {
    if (host === '') return undefined;
    const holder = this.holderOf(host);
    if (holder !== undefined || this.required) return holder?.namespace;
    const free = claimsTo(host)
      .toSorted(byAge)
      .find((claim) => this.wildcardBefore(host, claim, claimsTo) === undefined);
    return free?.ingress.namespace;
  }

  /** The wildcard above the host that another namespace had before, if claims are not required. */
  wildcardBefore(host: HostName, { ingress }: HostClaim, claimsTo: ClaimsTo): HostName | undefined {
    if (this.required) return undefined;
    return wildcardsAbove(host).find((wildcard) => {
      const holder = this.holderOf(wildcard);
      if (holder !== undefined) return holder.namespace !== ingress.namespace;
      const [oldest] = claimsTo(wildcard).toSorted(byAge);
      return (
        oldest !== undefined &&
        oldest.ingress.namespace !== ingress.namespace &&
        compareAge(oldest.ingress, ingress) < 0
      );
    });
  }

  /**
   * The claims of Ingresses to a host that count, in order of precedence. For a named host, these are the claims of its
   * owner, the oldest Ingress first. For rules without a host, these are the claims of all namespaces that may have such
   * rules. The namespace that got this right first comes first: an old Ingress that is moved into the class must not take
   * paths of other namespaces.
   */
  served(host: HostName, claimsTo: ClaimsTo): HostClaim[] {
    const claims = claimsTo(host);
    if (host !== '') {
      const owner = this.ownerOf(host, claimsTo);
      return claims.filter(({ ingress }) => ingress.namespace === owner).sort(byAge);
    }
    const ranks = new Map<string, number>();
    const sharers = [...this.#claims.sharers(this.#classNames), ...this.#departedClaims(ALL_HOSTS)];
    for (const { namespace } of sharers) if (!ranks.has(namespace)) ranks.set(namespace, ranks.size);
    const rankOf = ({ ingress }: HostClaim): number => ranks.get(ingress.namespace) ?? ranks.size;
    return claims
      .filter(({ ingress }) => !this.required || ranks.has(ingress.namespace))
      .sort((a, b) => rankOf(a) - rankOf(b) || byAge(a, b));
  }
}

const hostOf = ({ host }: Ownership): HostName => (host === ALL_HOSTS ? '' : host);

const byAge = (a: HostClaim, b: HostClaim): number => compareAge(a.ingress, b.ingress);
