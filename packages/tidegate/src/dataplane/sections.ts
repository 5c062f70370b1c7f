import type { Changes, Delta, HostRoutes, RouteAction, Upstream } from '../ingress/model.ts';
import type { RoutePolicy } from '../ingress/policy/index.ts';
import type { Driver } from './driver.ts';
import { sectionKey } from './section-keys.ts';
import type { RouterLabels } from './traffic-metrics.ts';

/** Which router a section is for. */
export interface SectionFacts extends RouterLabels {
  readonly number: number;
  /** Proves which router this is, see `identityHost`. */
  readonly identity: string;
}

/** A data plane that serves several routers, each on ports of its own: see `sectionPorts` of the API. */
export interface SectionedDriver {
  /**
   * Resolves when the data plane listens. Tables that sections were started with before this call are served from the first
   * request on.
   */
  start(): Promise<void>;
  /** The data plane of one router. `close` removes it; the other sections are not affected. */
  section(facts: SectionFacts): Driver;
  health(): ReturnType<Driver['health']>;
  metrics(): Promise<string>;
  drain(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** The keys that a section has in the shared table. */
export class SectionKeys {
  readonly hosts = new Set<string>();
  readonly upstreams = new Set<string>();
  readonly certificates = new Set<string>();
  readonly credentials = new Set<string>();

  /** The change is in the table. */
  note({ hosts, upstreams, certificates, credentials }: Content): void {
    note(this.hosts, hosts, ({ host }) => host);
    note(this.upstreams, upstreams, ({ id }) => id);
    note(this.certificates, certificates, ({ host }) => host);
    note(this.credentials, credentials, ({ id }) => id);
  }

  /** The table has nothing of the section. */
  clear(): void {
    for (const keys of [this.hosts, this.upstreams, this.certificates, this.credentials]) keys.clear();
  }
}

function note<V>(keys: Set<string>, { set, remove }: Changes<string, V>, keyOf: (value: V) => string): void {
  for (const key of remove) keys.delete(key);
  for (const value of set) keys.add(keyOf(value));
}

/** A change of a route table, without its numbers. */
export type Content = Required<Omit<Delta, 'from' | 'to'>>;

/**
 * The delta of a section as a change of the shared table. A full state removes what the section had before, and nothing of
 * other sections. `more` are hosts that every full state of the section contains.
 */
export function shared(
  section: number,
  delta: Delta,
  before: SectionKeys,
  more: readonly HostRoutes[],
): Content {
  const key = (name: string): string => sectionKey(section, name);
  const isFull = delta.from === 0;
  const { credentials = { set: [], remove: [] } } = delta;
  const changes = <V>(
    set: readonly V[],
    keyOf: (value: V) => string,
    had: ReadonlySet<string>,
    removed: readonly string[],
  ): Changes<string, V> => {
    if (!isFull) return { set, remove: removed.map(key) };
    const kept = new Set(set.map(keyOf));
    return { set, remove: [...had].filter((each) => !kept.has(each)) };
  };
  return {
    hosts: changes(
      [...delta.hosts.set, ...(isFull ? more : [])].map((each) => hostWith(key, each)),
      ({ host }) => host,
      before.hosts,
      delta.hosts.remove,
    ),
    upstreams: changes(
      delta.upstreams.set.map((each) => upstreamWith(key, each)),
      ({ id }) => id,
      before.upstreams,
      delta.upstreams.remove,
    ),
    certificates: changes(
      delta.certificates.set.map((each) => ({ ...each, host: key(each.host) })),
      ({ host }) => host,
      before.certificates,
      delta.certificates.remove,
    ),
    credentials: changes(
      credentials.set.map((each) => ({ ...each, id: key(each.id) })),
      ({ id }) => id,
      before.credentials,
      credentials.remove,
    ),
  };
}

type Key = (name: string) => string;

const upstreamWith = (key: Key, { tls, ...upstream }: Upstream): Upstream => ({
  ...upstream,
  id: key(upstream.id),
  ...(tls && {
    tls: { ...tls, ...(tls.credentials !== undefined && { credentials: key(tls.credentials) }) },
  }),
});

/** A host with the keys of its section, also in what it refers to. */
const hostWith = (key: Key, host: HostRoutes): HostRoutes => ({
  ...host,
  host: key(host.host),
  routes: host.routes.map((route) => ({ ...route, action: actionWith(key, route.action) })),
  ...(host.fallback !== undefined && { fallback: actionWith(key, host.fallback) }),
});

function actionWith(key: Key, { policy, ...action }: RouteAction): RouteAction {
  return {
    ...action,
    backends: action.backends.map((backend) => ({ ...backend, upstream: key(backend.upstream) })),
    ...(policy !== undefined && { policy: policyWith(key, policy) }),
  };
}

const policyWith = (
  key: Key,
  { basic, clientCertificate, customHeaders, externalAuth, mirror, errors, ...policy }: RoutePolicy,
): RoutePolicy => ({
  ...policy,
  ...(basic && { basic: { ...basic, credentials: key(basic.credentials) } }),
  ...(clientCertificate && {
    clientCertificate: { ...clientCertificate, credentials: key(clientCertificate.credentials) },
  }),
  ...(customHeaders && { customHeaders: { credentials: key(customHeaders.credentials) } }),
  ...(errors && { errors: { ...errors, upstream: key(errors.upstream) } }),
  ...(mirror && { mirror: { ...mirror, upstream: key(mirror.upstream) } }),
  ...(externalAuth && {
    externalAuth: {
      ...externalAuth,
      ...(externalAuth.upstream !== undefined && { upstream: key(externalAuth.upstream) }),
      ...(externalAuth.headers !== undefined && { headers: key(externalAuth.headers) }),
    },
  }),
});
