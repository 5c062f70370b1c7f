import { isDeepStrictEqual } from 'node:util';
import type { Changes, HostName, HostRoutes } from '../model.ts';
import { type CompiledHost, compileHost, ownerOf, type Share } from './host-routes.ts';
import { compareAge, type HostClaim, type IngressFacts } from './ingress-facts.ts';
import type { ServedHosts } from './served-hosts.ts';

/** The claims of all Ingresses on each host, and the routes that result. */
export class HostTable {
  readonly #servedHosts: ServedHosts;
  /** By host, then by the key of the Ingress. */
  readonly #claims = new Map<HostName, Map<string, HostClaim>>();
  readonly #compiled = new Map<HostName, CompiledHost>();
  readonly #dirty = new Set<HostName>();

  constructor(servedHosts: ServedHosts) {
    this.#servedHosts = servedHosts;
  }

  /** Adds the claims of an Ingress. */
  claim({ key, claims }: IngressFacts): void {
    for (const [host, claim] of claims) {
      const others = this.#claims.get(host) ?? new Map<string, HostClaim>();
      this.#claims.set(host, others.set(key, claim));
      this.#dirty.add(host);
    }
  }

  /** Removes the claims of an Ingress. */
  release({ key, claims }: IngressFacts): void {
    for (const host of claims.keys()) {
      const others = this.#claims.get(host);
      others?.delete(key);
      if (others?.size === 0) this.#claims.delete(host);
      this.#dirty.add(host);
    }
  }

  markDirty(host: HostName): void {
    this.#dirty.add(host);
  }

  /** All hosts that an Ingress names. */
  names(): Iterable<HostName> {
    return this.#claims.keys();
  }

  /** Keys of all Ingresses that name the host. */
  claimants(host: HostName): Iterable<string> {
    return this.#claims.get(host)?.keys() ?? [];
  }

  /** Namespace that owns the host. Undefined for the empty name and for unknown hosts. */
  ownerOf(host: HostName): string | undefined {
    return ownerOf(host, this.#oldestFirst(host));
  }

  isNamedByRule(host: HostName): boolean {
    return [...(this.#claims.get(host)?.values() ?? [])].some(({ byRule }) => byRule);
  }

  /** What an Ingress got of a host. Undefined if the host is not on this router. */
  shareOf(host: HostName, ingress: string): Share | undefined {
    return this.#compiled.get(host)?.shares.get(ingress);
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
    const claims = this.#oldestFirst(host);
    return claims.length > 0 && this.#servedHosts.hasRoutes(host) ? compileHost(host, claims) : undefined;
  }

  #oldestFirst(host: HostName): HostClaim[] {
    return [...(this.#claims.get(host)?.values() ?? [])].sort((a, b) => compareAge(a.ingress, b.ingress));
  }
}
