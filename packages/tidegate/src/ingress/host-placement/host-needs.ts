import { SetsByKey } from '@tidegate/kube';
import type { Delta, HostName, HostRoutes, Upstream, UpstreamId } from '../model.ts';
import { type Capability, type FailedHost, notSupportedHost } from '../provisioners/index.ts';

/** What the provisioner of a family can do. */
export interface Abilities {
  readonly controller: string;
  readonly capabilities: readonly Capability[];
}

/**
 * The hosts that a provisioner outside of Tidegate cannot serve as their Ingresses say. They are not placed on its routers. The
 * manager checks the hosts of its own load balancers when it programs them, and agents can do everything.
 */
export class HostNeeds {
  readonly #abilities: Abilities;
  readonly #capabilities: ReadonlySet<Capability>;
  readonly #hosts = new Map<HostName, HostRoutes>();
  readonly #upstreams = new Map<UpstreamId, Upstream>();
  readonly #certificates = new Set<HostName>();
  /** Hosts by upstream. */
  readonly #users = new SetsByKey();
  readonly #refused = new Map<HostName, FailedHost>();

  constructor(abilities: Abilities) {
    this.#abilities = abilities;
    this.#capabilities = new Set(abilities.capabilities);
  }

  get refused(): ReadonlyMap<HostName, FailedHost> {
    return this.#refused;
  }

  /** Returns hosts whose refusal has begun, changed or ended. */
  apply({ hosts, upstreams, certificates }: Delta): HostRoutes[] {
    for (const upstream of upstreams.set) this.#upstreams.set(upstream.id, upstream);
    for (const id of upstreams.remove) this.#upstreams.delete(id);
    for (const { host, certificate } of certificates.set)
      if (certificate === '') this.#certificates.delete(host);
      else this.#certificates.add(host);
    for (const host of certificates.remove) this.#certificates.delete(host);
    for (const host of [...hosts.remove, ...hosts.set.map((each) => each.host)]) this.#remove(host);
    for (const routes of hosts.set) {
      this.#hosts.set(routes.host, routes);
      for (const id of upstreamsOf(routes)) this.#users.add(id, routes.host);
    }
    const concerned = new Set([
      ...hosts.set.map(({ host }) => host),
      ...certificates.set.map(({ host }) => host),
      ...certificates.remove,
      ...upstreams.set.flatMap(({ id }) => [...this.#users.get(id)]),
    ]);
    return [...concerned].flatMap((host) => this.#check(host) ?? []);
  }

  #check(host: HostName): HostRoutes | undefined {
    const routes = this.#hosts.get(host);
    if (routes === undefined) return undefined;
    const { controller } = this.#abilities;
    const before = this.#refused.get(host);
    const found = notSupportedHost(
      routes,
      this.#upstreams,
      this.#certificates.has(host),
      this.#capabilities,
      controller,
    );
    if (found === undefined) this.#refused.delete(host);
    else this.#refused.set(host, found);
    return before?.message === found?.message ? undefined : routes;
  }

  #remove(host: HostName): void {
    const routes = this.#hosts.get(host);
    for (const id of routes === undefined ? [] : upstreamsOf(routes)) this.#users.delete(id, host);
    this.#hosts.delete(host);
    this.#refused.delete(host);
  }
}

const upstreamsOf = ({ routes, fallback }: HostRoutes): UpstreamId[] =>
  [...routes.map(({ action }) => action), ...(fallback === undefined ? [] : [fallback])].flatMap(
    ({ backends }) => backends.map(({ upstream }) => upstream),
  );
