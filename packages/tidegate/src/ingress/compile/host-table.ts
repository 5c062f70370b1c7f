import { isDeepStrictEqual } from 'node:util';
import { SetsByKey } from '@tidegate/kube';
import { wildcardOf, wildcardsAbove } from '../match/index.ts';
import type { Changes, HostName, HostRoutes } from '../model.ts';
import type { HostClaim, IngressFacts, Share } from './facts.ts';
import type { HostOwners } from './host-owners.ts';
import { type CompiledHost, closedHost, compileHost, withoutRoutes } from './host-routes.ts';
import type { ServedHosts } from './served-hosts.ts';

/** The claims of all Ingresses on each host, and the routes that result. */
export class HostTable {
  readonly #servedHosts: ServedHosts;
  readonly #owners: HostOwners;
  /** Hosts that an Ingress names or that have a recorded claim, by each wildcard above them. */
  readonly #below = new SetsByKey();
  /** By host, then by the key of the Ingress. */
  readonly #claims = new Map<HostName, Map<string, HostClaim>>();
  readonly #compiled = new Map<HostName, CompiledHost>();
  readonly #dirty = new Set<HostName>();

  constructor(servedHosts: ServedHosts, owners: HostOwners) {
    this.#servedHosts = servedHosts;
    this.#owners = owners;
  }

  /** Adds the claims of an Ingress. */
  claim({ key, claims }: IngressFacts): void {
    for (const [host, claim] of claims) {
      const others = this.#claims.get(host) ?? new Map<string, HostClaim>();
      this.#claims.set(host, others.set(key, claim));
      this.#index(host);
      this.markDirty(host);
    }
  }

  /** Removes the claims of an Ingress. */
  release({ key, claims }: IngressFacts): void {
    for (const host of claims.keys()) {
      const others = this.#claims.get(host);
      others?.delete(key);
      if (others?.size === 0) this.#claims.delete(host);
      this.#index(host);
      this.markDirty(host);
    }
  }

  /** Without required claims, the owner of a host also depends on the Ingresses for wildcards above it. */
  markDirty(host: HostName): void {
    this.#dirty.add(host);
    if (!this.#owners.required) this.#markBelowDirty(host);
  }

  /** Call it when the recorded claim to the host has changed. */
  ownerChanged(host: HostName): void {
    this.#index(host);
    this.#dirty.add(host);
    this.#markBelowDirty(host);
  }

  #markBelowDirty(wildcard: HostName): void {
    for (const host of this.#below.get(wildcard)) this.#dirty.add(host);
  }

  #index(host: HostName): void {
    const isKnown = this.#claims.has(host) || this.#owners.holderOf(host) !== undefined;
    for (const wildcard of wildcardsAbove(host)) this.#below[isKnown ? 'add' : 'delete'](wildcard, host);
  }

  /** All hosts that an Ingress names. */
  names(): Iterable<HostName> {
    return this.#claims.keys();
  }

  /** Keys of all Ingresses that name the host. */
  claimants(host: HostName): Iterable<string> {
    return this.#claims.get(host)?.keys() ?? [];
  }

  /** Hosts below a wildcard that an Ingress names or that have a recorded claim. */
  namesBelow(wildcard: HostName): ReadonlySet<HostName> {
    return this.#below.get(wildcard);
  }

  /** Namespace that owns exactly this host. Undefined for the empty name and for unknown hosts. */
  ownerOf(host: HostName): string | undefined {
    return this.#owners.ownerOf(host, this.#claimsTo);
  }

  isNamedByRule(host: HostName): boolean {
    return [...(this.#claims.get(host)?.values() ?? [])].some(({ byRule }) => byRule);
  }

  /** Whether an Ingress names the host that will get it as soon as its claim is recorded. */
  isAwaited(host: HostName): boolean {
    const namespaces = this.#claimsTo(host).flatMap(({ byRule, ingress }) =>
      byRule && !this.#owners.isDeparting(ingress.key) ? [ingress.namespace] : [],
    );
    const holder = this.#owners.holderOf(host);
    if (holder === undefined)
      return namespaces.some((namespace) => this.#owners.explain(host, namespace) === undefined);
    // The owner no longer names the host, so its claim will move to a namespace that may have it, or be reserved.
    return (
      holder.reservedUntil === undefined &&
      this.#claimsTo(host).every(({ ingress }) => ingress.namespace !== holder.namespace) &&
      namespaces.some((namespace) => this.#owners.explain(host, namespace)?.reason !== 'HostNotAllowed')
    );
  }

  /** Whether any host is awaited. Looks at all hosts. */
  hasAwaited(): boolean {
    for (const host of this.#claims.keys()) if (this.isAwaited(host)) return true;
    return false;
  }

  /** What an Ingress got of a host. Undefined if the host is not on this router. */
  shareOf(host: HostName, ingress: string): Share | undefined {
    return this.#compiled.get(host)?.shares.get(ingress);
  }

  hasRoutes(host: HostName): boolean {
    const routes = this.#compiled.get(host)?.routes;
    return routes !== undefined && (routes.routes.length > 0 || routes.fallback !== undefined);
  }

  *routes(): Generator<HostRoutes> {
    for (const { routes } of this.#compiled.values()) if (routes !== undefined) yield routes;
  }

  /** Compiles all dirty hosts. `note` is called for each of them, with the results before and after. */
  flush(
    note: (host: HostName, before: CompiledHost | undefined, after: CompiledHost | undefined) => void,
  ): Changes<HostName, HostRoutes> {
    const set: HostRoutes[] = [];
    const remove: HostName[] = [];
    for (const host of this.#dirty) {
      const before = this.#compiled.get(host);
      const after = this.#compile(host);
      if (after === undefined) this.#compiled.delete(host);
      else this.#compiled.set(host, after);
      if (after?.routes === undefined) {
        if (before?.routes !== undefined) remove.push(host);
      } else if (!isDeepStrictEqual(before?.routes, after.routes)) set.push(after.routes);
      note(host, before, after);
    }
    this.#dirty.clear();
    return { set, remove };
  }

  #compile(host: HostName): CompiledHost | undefined {
    const compiled = this.#compileOwned(host);
    if (host === '') return compiled;
    // A wildcard does not cover itself.
    const wildcard = host.startsWith('*.') ? undefined : wildcardOf(host);
    const above = wildcard && this.ownerOf(wildcard);
    const owner = compiled?.routes?.namespace ?? above;
    const closed = owner === undefined ? undefined : closedHost(host, owner, this.#claimsTo(host), compiled);
    if (closed !== undefined) return closed;
    const routes = compiled?.routes;
    if (routes === undefined || routes.routes.length > 0 || routes.fallback !== undefined) return compiled;
    // A host without routes, for example one that only `tls` names, must not hide a wildcard of the same namespace.
    const isCovered = above === routes.namespace;
    return isCovered ? { ...compiled, shares: compiled?.shares ?? new Map(), routes: undefined } : compiled;
  }

  #compileOwned(host: HostName): CompiledHost | undefined {
    if (this.#claims.has(host) && this.#servedHosts.hasRoutes(host))
      return compileHost(host, this.#claimsTo, this.#owners);
    const holder = this.#owners.holderOf(host);
    return holder && withoutRoutes(host, holder.namespace);
  }

  readonly #claimsTo = (host: HostName): HostClaim[] => [...(this.#claims.get(host)?.values() ?? [])];
}
