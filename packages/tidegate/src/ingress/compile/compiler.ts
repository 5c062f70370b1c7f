import { isDeepStrictEqual } from 'node:util';
import type { ConfigMap, EndpointSlice, Ingress, IngressClass, Secret, Service } from '@tidegate/kube';
import type { AttachedPolicy, HostClaim } from '../../api/index.ts';
import type { AttachedKind } from '../attached-policies/index.ts';
import { CLIENTS_ENTRY, type ClientSettings, clientsEntry } from '../clients/index.ts';
import { wildcardOf } from '../match/index.ts';
import type { Changes, Delta, HostName, HostRoutes } from '../model.ts';
import type { UpstreamReference } from './backend.ts';
import { CertificateTable } from './certificate-table.ts';
import { CredentialTable } from './credential-table.ts';
import type { IngressFacts } from './facts.ts';
import { type Explain, HostOwners } from './host-owners.ts';
import type { CompiledHost } from './host-routes.ts';
import { HostTable } from './host-table.ts';
import { IngressSet } from './ingress-set.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { ServedHosts } from './served-hosts.ts';
import { UpstreamTable } from './upstream-table.ts';
import { WantedObjects } from './wanted-objects.ts';

/** The objects that routes are compiled from. */
export interface Inputs {
  HostClaim: HostClaim;
  Ingress: Ingress;
  IngressClass: IngressClass;
  Service: Service;
  EndpointSlice: EndpointSlice;
  Secret: Secret;
  RoutePolicy: AttachedPolicy;
  ClusterRoutePolicy: AttachedPolicy;
  ConfigMap: ConfigMap;
}

export interface CompilerOptions {
  /** Ingresses of these classes are compiled. `setClassNames` changes it. */
  readonly classNames: readonly string[];
  /** The hosts of this router. Default: all hosts. `setServedHosts` changes it. */
  readonly hosts?: Iterable<HostName>;
  /**
   * Whether a host without a recorded claim is not served. Default: false. Then such a host belongs to the namespace of
   * the oldest Ingress that names it.
   */
  readonly claimsRequired?: boolean;
  /** Whether Ingresses of classes with this controller are compiled. Default: those of Tidegate's own controllers. */
  readonly isOurs?: (controller: string) => boolean;
  /** Explains in the outcome of an Ingress why its namespace has no claim to a host. */
  readonly explain?: Explain;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What has left the classes of a router, and is served there until clients have followed. */
export interface Departing {
  /** `namespace/name`. */
  readonly ingresses: ReadonlySet<string>;
  /** Classes that have left the address, with the time in milliseconds since the epoch: their claims from before count. */
  readonly classes: ReadonlyMap<string, number>;
}

/** Result of a flush. */
export interface Flushed {
  /**
   * Undefined if the routes have not changed. The first flush always returns a delta, which is the complete state.
   */
  readonly delta: Delta | undefined;
  /** Outcomes that have changed. `remove` has the keys of Ingresses that are no longer served here. */
  readonly outcomes: Changes<string, Outcome>;
  /** `namespace/name` of Secrets that are needed now, or no longer needed. */
  readonly secrets: Changes<string, string>;
  /** The same for ConfigMaps. */
  readonly configMaps: Changes<string, string>;
}

/** Counts how often each kind of result was computed. Tests use it to check the cost of a change. */
export interface Work {
  hosts: number;
  upstreams: number;
  certificates: number;
  outcomes: number;
}

/** The parts of a route table. */
export type TableKind = keyof Omit<Delta, 'from' | 'to'>;

/** The table that receives objects of one kind. */
interface Input<T> {
  put(object: T): void;
  remove(key: string): void;
}

/**
 * Receives objects in any order and returns the changes of the routes. The cost of a flush depends on the size of the
 * change, not on the number of objects.
 *
 * `put` and `remove` only update indexes and mark results as dirty. `flush` computes dirty results in a fixed order,
 * because each step marks inputs of the next: hosts, then upstreams, certificates and users, then outcomes.
 */
export class Compiler {
  readonly work: Work = { hosts: 0, upstreams: 0, certificates: 0, outcomes: 0 };
  readonly #options: CompilerOptions;
  readonly #servedHosts: ServedHosts;
  readonly #owners: HostOwners;
  readonly #hosts: HostTable;
  readonly #upstreams = new UpstreamTable();
  readonly #certificates: CertificateTable;
  readonly #credentials = new CredentialTable();
  readonly #secrets = new WantedObjects();
  readonly #configMaps = new WantedObjects();
  readonly #ingresses: IngressSet;
  /** Keys of Ingresses whose outcome may have changed. */
  readonly #touched = new Set<string>();
  readonly #outcomes = new Map<string, Outcome>();
  readonly #inputs: { readonly [K in keyof Inputs]: Input<Inputs[K]> };
  #generation = 0;
  /** What the class says about clients, and whether the last flush has included it. */
  #clients: HostRoutes | undefined;
  #areClientsFlushed = true;

  constructor(options: CompilerOptions) {
    this.#options = options;
    this.#servedHosts = new ServedHosts(options.hosts);
    this.#owners = new HostOwners(
      options.classNames,
      options.claimsRequired === true,
      (ingress) => this.#ingresses.isDeparting(ingress),
      options.explain,
    );
    this.#hosts = new HostTable(this.#servedHosts, this.#owners);
    this.#certificates = new CertificateTable(this.#hosts, this.#servedHosts);
    const follower = {
      added: (ingress: IngressFacts) => this.#added(ingress),
      removed: (ingress: IngressFacts) => this.#removed(ingress),
    };
    this.#ingresses = new IngressSet(options.classNames, follower, options.isOurs);
    this.#inputs = {
      HostClaim: {
        put: (object) => this.#ownerChanged(this.#owners.put(object)),
        remove: (key) => this.#ownerChanged(this.#owners.remove(key)),
      },
      Ingress: {
        put: (object) => this.#ingresses.put(object),
        remove: (key) => this.#ingresses.remove(key),
      },
      IngressClass: {
        put: (object) => this.#ingresses.putClass(object),
        remove: (key) => this.#ingresses.removeClass(key),
      },
      Service: {
        put: (object) => this.#upstreams.putService(object),
        remove: (key) => this.#upstreams.removeService(key),
      },
      EndpointSlice: {
        put: (object) => this.#upstreams.putSlice(object),
        remove: (key) => this.#upstreams.removeSlice(key),
      },
      Secret: {
        put: (object) => {
          this.#touch(this.#certificates.putSecret(object));
          this.#credentials.putSecret(object);
        },
        remove: (key) => {
          this.#touch(this.#certificates.removeSecret(key));
          this.#credentials.removeSecret(key);
        },
      },
      RoutePolicy: this.#policies('RoutePolicy'),
      ClusterRoutePolicy: this.#policies('ClusterRoutePolicy'),
      ConfigMap: {
        put: (object) => this.#credentials.putConfigMap(object),
        remove: (key) => this.#credentials.removeConfigMap(key),
      },
    };
  }

  /** Adds or replaces an object. The next flush includes it. */
  put<K extends keyof Inputs>(kind: K, object: Inputs[K]): void {
    this.#inputs[kind].put(object);
  }

  /** `key` is `namespace/name`, or the name of an IngressClass or HostClaim. */
  remove(kind: keyof Inputs, key: string): void {
    this.#inputs[kind].remove(key);
  }

  /** Identifies the policies that were put, with their generations. Empty: none. */
  get policyDigest(): string {
    return this.#ingresses.policyDigest;
  }

  /** What an Ingress asks for. Undefined if it does not belong to the classes. */
  factsOf(ingress: string): IngressFacts | undefined {
    return this.#ingresses.get(ingress);
  }

  /** Replaces the classes. Put all HostClaims and Ingresses again afterwards: those of a new class were ignored before. */
  setClassNames(classNames: readonly string[]): void {
    this.#owners.setClassNames(classNames);
    this.#ingresses.setClassNames(classNames);
  }

  /**
   * Replaces what is compiled although it has left the classes. Returns the keys of Ingresses that were added or removed: put
   * them again afterwards. Use it only if claims are required: such an Ingress has no right to a host that is not claimed.
   */
  setDeparting({ ingresses, classes }: Departing): string[] {
    this.#ownerChanged(this.#owners.setDeparted(classes));
    return this.#ingresses.setDeparting(ingresses);
  }

  /** Replaces what the class says about clients. Undefined: nothing. */
  setClients(clients: ClientSettings | undefined): void {
    const next = clients && clientsEntry(clients);
    if (isDeepStrictEqual(next, this.#clients)) return;
    this.#clients = next;
    this.#areClientsFlushed = false;
  }

  /**
   * Replaces the annotations of Ingresses that do not have them. Returns whether they have changed: then put all Ingresses
   * again.
   */
  setDefaults(annotations: Readonly<Record<string, string>>): boolean {
    return this.#ingresses.setDefaults(annotations);
  }

  /** Replaces the hosts of this router. Undefined means all hosts. */
  setServedHosts(hosts: Iterable<HostName> | undefined): void {
    const changed = this.#servedHosts.set(hosts);
    // Undefined: the limit was added or removed, so any host may be affected.
    if (changed === undefined) for (const { key } of this.#ingresses.values()) this.#touched.add(key);
    for (const host of changed ?? this.#hosts.names()) {
      this.#hosts.markDirty(host);
      // A router also needs the certificate of the wildcard above a host, even if the wildcard itself is on another
      // router.
      const wildcard = wildcardOf(host);
      if (wildcard === undefined) continue;
      this.#certificates.markDirty(wildcard);
      this.#touch(this.#hosts.claimants(wildcard));
    }
  }

  /**
   * Marks all Ingresses with certificates. Call it from time to time, because certificates expire without an event.
   */
  recheckCertificates(): void {
    for (const { key, tls } of this.#ingresses.values()) if (tls.length > 0) this.#touched.add(key);
  }

  /**
   * Computes everything that has changed since the last flush. Increases the generation if the routes have changed.
   */
  flush(): Flushed {
    this.#ingresses.refresh();
    const hosts = this.#withClients(this.#flushHosts());
    const upstreams = this.#upstreams.flush((_, ingresses) => {
      this.work.upstreams++;
      this.#touch(ingresses);
    });
    const certificates = this.#certificates.flush((_, ingresses) => {
      this.work.certificates++;
      this.#touch(ingresses);
    });
    const credentials = this.#credentials.flush((ingresses) => this.#touch(ingresses));
    const { secrets, configMaps } = this.#flushWanted();
    const outcomes = this.#flushOutcomes();
    const from = this.#generation;
    const isSame = [hosts, upstreams, certificates, credentials].every(
      ({ set, remove }) => set.length + remove.length === 0,
    );
    if (isSame && from > 0) return { delta: undefined, outcomes, secrets, configMaps };
    this.#generation++;
    const delta = { from, to: this.#generation, hosts, upstreams, certificates, credentials };
    return { delta, outcomes, secrets, configMaps };
  }

  /** Whether the host had routes at the last flush. */
  hasRoutes(host: HostName): boolean {
    return this.#hosts.hasRoutes(host);
  }

  /** Whether the host has no routes now, but will have some as soon as its claim is recorded. */
  isAwaited(host: HostName): boolean {
    return this.#hosts.isAwaited(host);
  }

  /** Whether any host will have routes as soon as its claim is recorded. Looks at all hosts. */
  hasAwaited(): boolean {
    return this.#hosts.hasAwaited();
  }

  /** The Ingresses that need a part of the table. */
  ingressesWith(kind: TableKind, key: string): string[] {
    if (kind === 'credentials') return [...this.#credentials.ingressesWith(key)];
    if (kind === 'upstreams') return [...this.#upstreams.usersOf(key)];
    const isServed = (ingress: string): boolean =>
      (this.#hosts.shareOf(key, ingress)?.served.length ?? 0) > 0;
    const claimants = [...this.#hosts.claimants(key)];
    return kind === 'hosts' ? claimants.filter(isServed) : claimants;
  }

  /** The complete state as of the last flush, as a delta from 0. */
  snapshot(): Delta {
    return {
      from: 0,
      to: this.#generation,
      hosts: { set: [...this.#hosts.routes(), ...(this.#clients ? [this.#clients] : [])], remove: [] },
      upstreams: { set: [...this.#upstreams.upstreams()], remove: [] },
      certificates: { set: [...this.#certificates.certificates()], remove: [] },
      credentials: { set: this.#credentials.all(), remove: [] },
    };
  }

  #policies(kind: AttachedKind): Input<AttachedPolicy> {
    return {
      put: (object) => this.#ingresses.putPolicy(kind, object),
      remove: (key) => this.#ingresses.removePolicy(kind, key),
    };
  }

  #added(facts: IngressFacts): void {
    this.#hosts.claim(facts);
    this.#certificates.claim(facts);
    this.#credentials.claim(facts);
    this.#touched.add(facts.key);
  }

  #removed(facts: IngressFacts): void {
    this.#hosts.release(facts);
    this.#certificates.release(facts);
    this.#credentials.release(facts);
    this.#touched.add(facts.key);
  }

  #ownerChanged(hosts: readonly HostName[]): void {
    for (const host of hosts) {
      this.#hosts.ownerChanged(host);
      // No rule needs to name the wildcard: certificates of hosts below it depend on its owner alone.
      this.#certificates.markBelowDirty(host);
    }
  }

  #touch(ingresses: Iterable<string>): void {
    for (const key of ingresses) this.#touched.add(key);
  }

  #flushHosts(): Delta['hosts'] {
    const compiled: { before: CompiledHost | undefined; after: CompiledHost | undefined }[] = [];
    const changes = this.#hosts.flush((host, before, after) => {
      this.work.hosts++;
      compiled.push({ before, after });
      this.#touch(this.#hosts.claimants(host));
      this.#certificates.markDirty(host);
      if (before?.routes?.namespace !== after?.routes?.namespace) this.#certificates.markBelowDirty(host);
    });
    // Use before release: an upstream that only moves between hosts keeps a user and is not resolved again.
    for (const { after } of compiled) eachUse(after, (upstream, key) => this.#upstreams.use(upstream, key));
    for (const { before } of compiled)
      eachUse(before, (upstream, key) => this.#upstreams.release(upstream, key));
    return changes;
  }

  #withClients({ set, remove }: Delta['hosts']): Delta['hosts'] {
    if (this.#areClientsFlushed) return { set, remove };
    this.#areClientsFlushed = true;
    return this.#clients === undefined
      ? { set, remove: [...remove, CLIENTS_ENTRY] }
      : { set: [...set, this.#clients], remove };
  }

  #flushWanted(): Pick<Flushed, 'secrets' | 'configMaps'> {
    for (const key of this.#touched) {
      const ingress = this.#ingresses.get(key);
      this.#secrets.set(key, ingress === undefined ? new Set() : this.#secretsOf(ingress));
      this.#configMaps.set(key, ingress === undefined ? new Set() : this.#configMapsOf(ingress));
    }
    return { secrets: this.#secrets.flush(), configMaps: this.#configMaps.flush() };
  }

  #secretsOf(ingress: IngressFacts): Set<string> {
    const isNeeded = (host: HostName): boolean =>
      this.#servedHosts.hasCertificate(host, this.#hosts.isNamedByRule(host));
    const needed = ingress.tls.filter(({ named, hosts }) =>
      named ? hosts.some(isNeeded) : this.#concerns(ingress),
    );
    const users = this.#concerns(ingress) ? ingress.credentials.filter(({ headers }) => !headers) : [];
    return new Set([...needed, ...users].map(({ secret }) => secret));
  }

  #configMapsOf(ingress: IngressFacts): Set<string> {
    const named = this.#concerns(ingress) ? ingress.credentials : [];
    return new Set(named.flatMap(({ headers }) => headers?.configMap ?? []));
  }

  #flushOutcomes(): Changes<string, Outcome> {
    const set: Outcome[] = [];
    const remove: string[] = [];
    const tables = {
      hosts: this.#hosts,
      upstreams: this.#upstreams,
      certificates: this.#certificates,
      credentials: this.#credentials,
    };
    for (const key of this.#touched) {
      this.work.outcomes++;
      const ingress = this.#ingresses.get(key);
      if (ingress === undefined || !this.#concerns(ingress)) {
        if (this.#outcomes.delete(key)) remove.push(key);
        continue;
      }
      const full = outcomeOf(ingress, tables, this.#options.now());
      const outcome = this.#ingresses.isDeparting(key) ? withoutRefusals(full) : full;
      if (isDeepStrictEqual(outcome, this.#outcomes.get(key))) continue;
      this.#outcomes.set(key, outcome);
      set.push(outcome);
    }
    this.#touched.clear();
    return { set, remove };
  }

  /** Whether the Ingress has a host on this router. */
  #concerns({ claims }: IngressFacts): boolean {
    return (
      !this.#servedHosts.isLimited() || [...claims.keys()].some((host) => this.#servedHosts.hasRoutes(host))
    );
  }
}

/** Only the new class decides which hosts an Ingress gets that has left this one. */
const withoutRefusals = (outcome: Outcome): Outcome => ({
  ...outcome,
  problems: outcome.problems.filter(({ reason }) => !REFUSALS.has(reason)),
});

const REFUSALS: ReadonlySet<string> = new Set(['HostConflict', 'HostNotAllowed', 'HostNotClaimed']);

/** Visits each upstream that the host uses, with the key of the Ingress that uses it. */
function eachUse(
  host: CompiledHost | undefined,
  visit: (upstream: UpstreamReference, ingress: string) => void,
): void {
  for (const [ingress, { served }] of host?.shares ?? []) {
    for (const { upstream, others = [] } of served)
      for (const each of [upstream, ...others]) visit(each, ingress);
  }
}
