import { isDeepStrictEqual } from 'node:util';
import type { Compiler } from '../compile/index.ts';
import { wildcardOf } from '../match/index.ts';
import type { Certificate, Changes, HostName, HostRoutes, Upstream, UpstreamId } from '../model.ts';
import type { RouterSnapshot } from '../provisioners/index.ts';

/** A table of the route model, with the keys that have changed since the last snapshot was applied. */
class Tracked<K, V> {
  readonly values = new Map<K, V>();
  readonly changed = new Set<K>();

  apply({ set, remove }: Changes<K, V>, keyOf: (value: V) => K): void {
    for (const value of set) {
      this.values.set(keyOf(value), value);
      this.changed.add(keyOf(value));
    }
    for (const key of remove) {
      this.values.delete(key);
      this.changed.add(key);
    }
  }

  /** All values, or only those that have changed. */
  changes(all: boolean): Changes<K, V> {
    if (all) return { set: [...this.values.values()], remove: [] };
    return {
      set: [...this.changed].flatMap((key) => this.values.get(key) ?? []),
      remove: [...this.changed].filter((key) => !this.values.has(key)),
    };
  }
}

/**
 * The compiled routes of one router, and what of them the load balancer does not have yet. `replace` returns an upstream
 * with other endpoints.
 */
export class RouterRoutes {
  readonly compiler: Compiler;
  readonly #replace: ((upstream: Upstream) => Upstream) | undefined;
  readonly #hosts = new Tracked<HostName, HostRoutes>();
  readonly #upstreams = new Tracked<UpstreamId, Upstream>();
  /** Before `replace`, which needs the endpoints again when nodes or Services change. */
  readonly #compiled = new Map<UpstreamId, Upstream>();
  readonly #certificates = new Tracked<HostName, Certificate>();
  #generation = 0;
  /** The generation of the routes that the load balancer has. 0: unknown. */
  #applied = 0;
  /** What was handed out, and is not answered yet. */
  #taken: { generation: number; routerGeneration: number } | undefined;
  #appliedRouterGeneration: number | undefined;
  #again = false;
  #listed: readonly HostName[] | undefined = [];

  constructor(compiler: Compiler, replace?: (upstream: Upstream) => Upstream) {
    this.compiler = compiler;
    this.#replace = replace;
  }

  setHosts(hosts: readonly HostName[] | undefined): void {
    if (hosts === this.#listed) return;
    this.#listed = hosts;
    this.compiler.setServedHosts(hosts);
  }

  /** Compiles pending changes. Returns whether the routes have changed. */
  flush(): boolean {
    const { delta } = this.compiler.flush();
    if (delta === undefined) return false;
    for (const upstream of delta.upstreams.set) this.#compiled.set(upstream.id, upstream);
    for (const id of delta.upstreams.remove) this.#compiled.delete(id);
    const set = this.#replace ? delta.upstreams.set.map(this.#replace) : delta.upstreams.set;
    this.#hosts.apply(delta.hosts, ({ host }) => host);
    // They decide which hosts without routes matter, so the provisioner gets the complete state.
    const names = [...delta.hosts.set.map(({ host }) => host), ...delta.hosts.remove];
    if (names.some((host) => host === '' || host.startsWith('*.'))) this.#applied = 0;
    this.#upstreams.apply({ set, remove: delta.upstreams.remove }, ({ id }) => id);
    this.#certificates.apply(delta.certificates, ({ host }) => host);
    this.#generation++;
    return true;
  }

  /** What `replace` depends on has changed. */
  changeAllUpstreams(): void {
    const replaced = [...this.#compiled.values()].map((upstream) => this.#replace?.(upstream) ?? upstream);
    const set = replaced.filter(
      (upstream) => !isDeepStrictEqual(upstream, this.#upstreams.values.get(upstream.id)),
    );
    if (set.length === 0) return;
    this.#upstreams.apply({ set, remove: [] }, ({ id }) => id);
    this.#generation++;
  }

  /** The snapshot to program, or undefined if the load balancer has it already. */
  take(routerGeneration: number): RouterSnapshot | undefined {
    this.flush();
    const isServed =
      this.#applied === this.#generation &&
      this.#applied > 0 &&
      this.#appliedRouterGeneration === routerGeneration;
    if (isServed && !this.#again) return undefined;
    this.#taken = { generation: this.#generation, routerGeneration };
    const all = this.#applied === 0;
    const changes = {
      from: this.#applied,
      to: this.#generation,
      hosts: this.#relevant(this.#hosts.changes(all)),
      upstreams: this.#upstreams.changes(all),
      certificates: this.#certificates.changes(all),
    };
    // What changes while the provisioner works belongs to the next snapshot.
    for (const { changed } of [this.#hosts, this.#upstreams, this.#certificates]) changed.clear();
    return {
      routerGeneration,
      generation: this.#generation,
      hosts: new Map([...this.#hosts.values].filter(([, routes]) => this.#isRelevant(routes))),
      upstreams: new Map(this.#upstreams.values),
      certificates: new Map(this.#certificates.values),
      changes,
    };
  }

  /**
   * The compiler also returns every claimed host of the class without routes, so that its requests do not get the routes of a
   * wildcard, or rules without a host. Without these, the response is 404 anyway.
   */
  #isRelevant({ host, routes, fallback }: HostRoutes): boolean {
    if (routes.length > 0 || fallback !== undefined) return true;
    const covers = (name: HostName | undefined): boolean => {
      const found = name === undefined ? undefined : this.#hosts.values.get(name);
      return found !== undefined && (found.routes.length > 0 || found.fallback !== undefined);
    };
    return host !== '' && (covers(wildcardOf(host)) || covers(''));
  }

  #relevant({ set, remove }: Changes<HostName, HostRoutes>): Changes<HostName, HostRoutes> {
    const kept = set.filter((routes) => this.#isRelevant(routes));
    const dropped = set.filter((routes) => !this.#isRelevant(routes)).map(({ host }) => host);
    return { set: kept, remove: [...remove, ...dropped] };
  }

  /** Whether the routes have changed since the last `take`. */
  get isOutdated(): boolean {
    return this.#taken !== undefined && this.#taken.generation !== this.#generation;
  }

  applied(again: boolean): void {
    this.#applied = this.#taken?.generation ?? 0;
    this.#appliedRouterGeneration = this.#taken?.routerGeneration;
    this.#again = again;
  }

  failed(): void {
    this.#applied = 0;
  }
}
