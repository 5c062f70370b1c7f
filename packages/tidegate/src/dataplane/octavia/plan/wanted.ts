import { wildcardOf, wildcardsAbove } from '../../../ingress/match/index.ts';
import type { HostName, HostRoutes, Route, RouteAction } from '../../../ingress/model.ts';
import type { FailedHost, RouterSnapshot } from '../../../ingress/provisioners/index.ts';
import { usableCertificates } from '../../certificates-by-name.ts';
import { certificateNames } from './certificates.ts';
import { backendOf } from './members.ts';
import { compareKeys, keyText, rulesOf } from './policy-key.ts';
import { NO_STORE, refusalOf, TOO_LONG, WILDCARD_REDIRECT } from './refusals.ts';
import {
  type Backend,
  type BackendId,
  type HealthMonitor,
  type ListenerName,
  type ListenerSettings,
  type Member,
  NOT_FOUND_BACKEND,
  type Policy,
  type PolicyKey,
  type PolicyTarget,
  type Wanted,
  type WantedListener,
} from './state.ts';

export type Routes = Pick<RouterSnapshot, 'hosts' | 'upstreams' | 'certificates'>;

/** Settings of a load balancer that do not come from Ingresses. */
export interface WantedOptions {
  readonly http: ListenerSettings;
  readonly https: ListenerSettings;
  readonly monitor?: HealthMonitor;
  /** The subnet of members, if it is not that of the load balancer. */
  readonly memberSubnet?: string;
  /** Servers that answer 404, for requests without a route. */
  readonly notFound?: readonly Member[];
  /** Whether there is a certificate store. Without it, nothing is served over HTTPS. */
  readonly hasStore: boolean;
  /** Before the names of certificates in the store. */
  readonly certificatePrefix: string;
}

/** Translates the routes of a router. `failed` has the hosts that Octavia cannot serve as the routes say. */
export function wantedOf(
  routes: Routes,
  options: WantedOptions,
): { wanted: Wanted; failed: Map<HostName, FailedHost> } {
  const usable = usableCertificates(routes, 'Octavia');
  const translation = new Translation(routes, options, usable.closed);
  const isSecure =
    [...usable.certificates.values()].some(({ certificate }) => certificate !== '') ||
    [...routes.hosts.values()].some(({ redirectToHttps }) => redirectToHttps === true);
  const certificates =
    isSecure && options.hasStore
      ? certificateNames(usable.certificates, options.certificatePrefix)
      : undefined;
  if (isSecure && !options.hasStore) translation.failSecureHosts();
  const listeners = new Map<ListenerName, WantedListener>([
    ['http', { settings: options.http, policies: translation.policies('http') }],
  ]);
  if (certificates !== undefined)
    listeners.set('https', {
      settings: options.https,
      certificates,
      policies: translation.policies('https'),
    });
  for (const [host, problem] of usable.problems) translation.fail(host, problem);
  const names = certificates === undefined ? [] : [certificates.default, ...certificates.sni];
  return {
    wanted: { backends: translation.backends, listeners, certificates: new Set(names) },
    failed: translation.failed,
  };
}

class Translation {
  readonly backends = new Map<BackendId, Backend>();
  readonly failed = new Map<HostName, FailedHost>();
  readonly #routes: Routes;
  readonly #options: WantedOptions;
  /** The rules without a host. */
  readonly #shared: HostRoutes | undefined;
  readonly #sharedNamespaces: ReadonlySet<string>;
  /** Hosts that are not served over HTTPS. */
  readonly #closedHosts: ReadonlySet<HostName>;

  constructor(routes: Routes, options: WantedOptions, closedHosts: ReadonlySet<HostName>) {
    this.#routes = routes;
    this.#options = options;
    this.#closedHosts = closedHosts;
    this.#shared = routes.hosts.get('');
    this.#sharedNamespaces = new Set(actionsOf(this.#shared).map(({ source }) => source.namespace));
    this.#addBackend(NOT_FOUND_BACKEND, 'tidegate_not-found', options.notFound);
  }

  fail(host: HostName, problem: FailedHost): void {
    if (!this.failed.has(host)) this.failed.set(host, problem);
  }

  /** Without a certificate store. */
  failSecureHosts(): void {
    for (const { host, certificate } of this.#routes.certificates.values())
      if (certificate !== '') this.fail(host, NO_STORE);
  }

  policies(listener: ListenerName): Policy[] {
    const policies = new Map<string, Policy>();
    // The first route wins if several have the same key.
    const add = (policy: Policy): void => {
      const key = keyText(policy.key);
      if (!policies.has(key)) policies.set(key, policy);
    };
    for (const host of this.#routes.hosts.values()) {
      const ofHost = new Map<HostName, Policy[]>();
      this.#addHost(host, listener, (policy) => {
        ofHost.set(policy.key.host, [...(ofHost.get(policy.key.host) ?? []), policy]);
      });
      for (const [name, each] of ofHost)
        for (const policy of this.#fitting(name, host.namespace, each)) add(policy);
    }
    return [...policies.values()].sort((a, b) => compareKeys(a.key, b.key));
  }

  #addHost(entry: HostRoutes, listener: ListenerName, add: (policy: Policy) => void): void {
    const { host, namespace } = entry;
    if (entry.redirectToHttps === true && listener === 'http' && host !== '') this.#addRedirect(entry, add);
    else if (listener === 'https' && this.#closedHosts.has(host))
      add({ key: restOf(host), target: this.#closed(namespace) });
    else this.#addRoutes(entry, add);
    // A request without a host cannot be redirected.
    if (entry.redirectToHttps === true && host === '') this.fail(host, WILDCARD_REDIRECT);
    // Hosts further below a wildcard are not covered by it, but belong to its owner.
    if (host.startsWith('*.') && this.#isFiltered()) this.#addShared(`*${host}`, namespace, add);
  }

  #addRoutes(entry: HostRoutes, add: (policy: Policy) => void): void {
    const { host, namespace } = entry;
    for (const { path, match, action, headers } of entry.routes)
      add(this.#policy({ section: 'own', host, path, match: kindOf(match) }, action, headers.length > 0));
    if (entry.fallback !== undefined) add(this.#policy(restOf(host), entry.fallback));
    else if (host !== '' && this.#fallsThrough(entry)) this.#addShared(host, namespace, add);
  }

  /** The answers to requests of a host that its own rules do not match: the rules without a host of its owner. */
  #addShared(host: HostName, namespace: string, add: (policy: Policy) => void): void {
    const isOfOwner = ({ source }: RouteAction): boolean => source.namespace === namespace;
    for (const { path, match, action, headers } of this.#shared?.routes ?? []) {
      if (isOfOwner(action))
        add(
          this.#policy({ section: 'shared', host, path, match: kindOf(match) }, action, headers.length > 0),
        );
    }
    const fallback = this.#shared?.fallback;
    const rest = restOf(host);
    if (fallback !== undefined && isOfOwner(fallback)) add(this.#policy(rest, fallback));
    else add({ key: rest, target: { backend: NOT_FOUND_BACKEND } });
  }

  #addRedirect({ host, namespace }: HostRoutes, add: (policy: Policy) => void): void {
    if (host.startsWith('*.') || !this.#options.hasStore) {
      // Serving the host without TLS would be worse than not serving it.
      this.fail(host, this.#options.hasStore ? WILDCARD_REDIRECT : NO_STORE);
      add({ key: restOf(host), target: this.#closed(namespace) });
    } else {
      const key: PolicyKey = { section: 'redirect', host, path: '', match: 'Prefix' };
      add({ key, target: { redirectPrefix: `https://${host}` } });
    }
  }

  /** Whether requests of the host that it has no rule for would reach a policy of another host that is wrong. */
  #fallsThrough({ host, namespace }: HostRoutes): boolean {
    const { hosts } = this.#routes;
    const covering = host.startsWith('*.') ? undefined : wildcardOf(host);
    if (covering !== undefined && hosts.has(covering)) return true;
    if (this.#sharedNamespaces.size === 0) return false;
    if ([...this.#sharedNamespaces].some((each) => each !== namespace)) return true;
    return wildcardsAbove(host).some((above) => (hosts.get(above)?.namespace ?? namespace) !== namespace);
  }

  /** Whether some wildcard belongs to another namespace than some rule without a host. */
  #isFiltered(): boolean {
    if (this.#sharedNamespaces.size === 0) return false;
    const [only] = this.#sharedNamespaces;
    if (this.#sharedNamespaces.size > 1) return true;
    return [...this.#routes.hosts.values()].some(
      ({ host, namespace }) => host.startsWith('*.') && namespace !== only,
    );
  }

  #policy(key: PolicyKey, action: RouteAction, hasHeaders = false): Policy {
    const backend = backendOf(action, this.#routes.upstreams, this.#options);
    const refusal = refusalOf(key, action, this.#options.http, {
      hasHeaders,
      hasBackend: backend !== undefined,
    });
    if (refusal !== undefined) this.fail(key.host, refusal);
    if (refusal !== undefined || backend === undefined)
      return { key, target: this.#closed(action.source.namespace) };
    this.backends.set(backend.id, backend);
    return { key, target: { backend: backend.id } };
  }

  /**
   * A host with a policy whose rules do not fit into Octavia answers 503: with fewer rules the policy would answer for
   * other paths, and without it a less specific policy would answer.
   */
  #fitting(host: HostName, namespace: string, policies: readonly Policy[]): readonly Policy[] {
    if (policies.every(({ key }) => rulesOf(key) !== undefined)) return policies;
    this.fail(host.replace(/^\*\*\./, '*.'), TOO_LONG);
    const key = restOf(host);
    return rulesOf(key) === undefined ? [] : [{ key, target: this.#closed(namespace) }];
  }

  /** Answers 503, as the other data planes do for a route that they do not serve. */
  #closed(namespace: string): PolicyTarget {
    const id = `${namespace}__closed`;
    this.#addBackend(id, id);
    return { backend: id };
  }

  #addBackend(id: BackendId, name: string, members: readonly Member[] = []): void {
    if (!this.backends.has(id))
      this.backends.set(id, { id, name, algorithm: 'ROUND_ROBIN', tls: false, members });
  }
}

/** The manager leaves out hosts with regular expressions, because Octavia does not have this capability. */
const kindOf = (match: Route['match']): PolicyKey['match'] => (match === 'Exact' ? 'Exact' : 'Prefix');

const restOf = (host: HostName): PolicyKey => ({ section: 'rest', host, path: '', match: 'Prefix' });

const actionsOf = (host: HostRoutes | undefined): RouteAction[] => [
  ...(host?.routes ?? []).map(({ action }) => action),
  ...(host?.fallback === undefined ? [] : [host.fallback]),
];
