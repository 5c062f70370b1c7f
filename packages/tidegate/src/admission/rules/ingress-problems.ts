/** Finds the problems that an Ingress would have if it were created now. Pure. */

import { type Ingress, type IngressClass, keyOf, type Secret, type Service } from '@tidegate/kube';
import {
  ALL_HOSTS,
  type AttachedPolicy,
  type HostClaimSpec,
  type IngressClassPolicy,
  MIGRATION_COPY_OF_ANNOTATION,
} from '../../api/index.ts';
import { Compiler, type IngressProblem, ingressProblem, type Outcome } from '../../ingress/compile/index.ts';
import type { Delta } from '../../ingress/model.ts';
import { type ClaimIndex, newHostClaim, refusalOf, type Wish } from '../../ingress/ownership/index.ts';
import { notSupported, type ProvisionerProfile } from '../../ingress/provisioners/index.ts';
import type { Turn } from '../rule.ts';
import { MOST_ENTRIES, MOST_HOSTS, sizeOf } from './ingress-size.ts';

/** The objects in the cluster that an Ingress can conflict with or refer to. */
export interface ExistingObjects {
  /** Ingresses of the class that have a rule for the host. */
  ingressesNaming(className: string, host: string): readonly Ingress[];
  /** The recorded claims. */
  readonly claims: ClaimIndex;
  policyOf(className: string): IngressClassPolicy['spec'] | undefined;
  /** The RoutePolicies of the namespace. */
  routePoliciesOf(namespace: string): readonly AttachedPolicy[];
  clusterRoutePolicies(): readonly AttachedPolicy[];
  readonly classes: { get(name: string): IngressClass | undefined };
  /** The class, and the classes that share its address and therefore its hosts. */
  classesWith(className: string): readonly string[];
  service(key: string): Service | undefined;
  secret(key: string): Secret | undefined;
  /** Whether the Secrets of the namespace are known. If not, nothing can be said about certificates. */
  knowsSecretsOf(namespace: string): boolean;
}

/**
 * Compiles the Ingress as a router does, with the recorded claims and the Ingresses for the same hosts. It always counts
 * as the youngest of them, even on update. Hosts without a claim are compiled as if they were claimed.
 */
export async function problemsIfCreated(
  ingress: Ingress,
  className: string,
  existing: ExistingObjects,
  { now, turn, provisioner }: { now: number; turn: Turn; provisioner?: ProvisionerProfile },
): Promise<readonly IngressProblem[]> {
  const { creationTimestamp: _, ...metadata } = ingress.metadata;
  const candidate = { ...ingress, metadata };
  const key = keyOf(candidate);
  const classNames = existing.classesWith(className);
  const wishFor = (host: string, namespace: string): Wish => ({
    className,
    classNames,
    host: host === '' ? ALL_HOSTS : host,
    namespace,
  });
  const refusal = (wish: Wish) => refusalOf(wish, existing.claims, existing.policyOf(className));
  const compiler = new Compiler({
    classNames,
    claimsRequired: true,
    explain: (host, namespace) => refusal(wishFor(host, namespace)),
    // The webhook is called for classes of known provisioners only.
    isOurs: () => true,
    now: () => now,
  });
  const { namespace = '' } = candidate.metadata;
  for (const policy of existing.clusterRoutePolicies()) compiler.put('ClusterRoutePolicy', policy);
  for (const policy of existing.routePoliciesOf(namespace)) compiler.put('RoutePolicy', policy);
  for (const name of classNames) {
    const ingressClass = existing.classes.get(name);
    if (ingressClass !== undefined) compiler.put('IngressClass', ingressClass);
  }
  // The candidate is read once: with many regular expressions, that is most of the work.
  compiler.put('Ingress', candidate);
  const { claims, tls } = compiler.factsOf(key) ?? { claims: new Map<string, never>(), tls: [] };
  // An Ingress that shares many hosts with the candidate is compiled once, so the cost grows with the number of hosts only.
  const compiled = new Set<Ingress>();
  const budget = new Budget();
  let [steps, entries] = [0, 0];
  for (const host of claims.keys()) {
    if (++steps % HOSTS_PER_TURN === 0) await turn();
    const others = classNames.flatMap((name) => existing.ingressesNaming(name, host).slice(0, MOST_PER_HOST));
    for (const other of others) {
      // The candidate replaces its stored version.
      if (compiled.has(other) || keyOf(other) === key || isCopyOf(candidate, other)) continue;
      if (!budget.allows(other)) continue;
      compiled.add(other);
      compiler.put('Ingress', other);
      entries += sizeOf(other).entries;
      if (entries < ENTRIES_PER_TURN) continue;
      entries = 0;
      await turn();
    }
    const isFree = (namespace: string): boolean => refusal(wishFor(host, namespace)) === undefined;
    const own = wishFor(host, `${candidate.metadata.namespace}`);
    for (const spec of claimsFor(own, { existing, others, isFree, now }))
      compiler.put('HostClaim', newHostClaim(spec));
  }
  const upstreams = [...claims.values()].flatMap(({ routes, fallback }) =>
    [...routes, ...(fallback === undefined ? [] : [fallback])].map(({ upstream }) => upstream),
  );
  for (const key of new Set(upstreams.map(({ namespace, service }) => `${namespace}/${service}`))) {
    const found = existing.service(key);
    if (found !== undefined) compiler.put('Service', found);
  }
  for (const secret of new Set(tls.map(({ secret }) => secret))) {
    const found = existing.secret(secret);
    if (found !== undefined) compiler.put('Secret', found);
  }
  await turn();
  const { delta, outcomes } = compiler.flush();
  const outcome = outcomes.set.find(({ ingress: each }) => each === key);
  const missing = outcome && delta && provisioner ? missingOf(outcome, delta, provisioner) : [];
  const problems = [...(outcome?.problems ?? []), ...missing];
  const knowsSecrets = existing.knowsSecretsOf(candidate.metadata.namespace ?? '');
  // The manager does not read users.
  return problems.filter(({ about }) => about !== 'users' && (about !== 'certificates' || knowsSecrets));
}

/** Whether one is a copy of the other that `tidegate migrate` made. They have the same paths, and are not in conflict. */
function isCopyOf(a: Ingress, b: Ingress): boolean {
  const namesOther = (copy: Ingress, original: Ingress): boolean =>
    copy.metadata.annotations?.[MIGRATION_COPY_OF_ANNOTATION] === original.metadata.name;
  return a.metadata.namespace === b.metadata.namespace && (namesOther(a, b) || namesOther(b, a));
}

/**
 * What the load balancers of the class cannot do. A program outside of the manager decides this itself, and need not declare
 * what it can do.
 */
function missingOf(
  { hosts: served }: Outcome,
  { hosts, upstreams }: Delta,
  { programming, capabilities, controller }: ProvisionerProfile,
): IngressProblem[] {
  if (programming === 'external') return [];
  const own = hosts.set.filter(({ host }) => served.includes(host)).map((each) => [each.host, each] as const);
  const table = {
    hosts: new Map(own),
    upstreams: new Map(upstreams.set.map((each) => [each.id, each])),
    certificates: new Map(),
  };
  return [...notSupported(table, capabilities, controller).values()].map(({ message }) =>
    ingressProblem('NotSupported', 'spec', message),
  );
}

/** Reading a claim, and finding the owners of a host, takes a fraction of a millisecond. */
const HOSTS_PER_TURN = 50;
/** Reading a path takes less, unless it is a regular expression. */
const ENTRIES_PER_TURN = 100;
/** Ingresses that name a host beyond this number are not compared. Routers decide in any case. */
const MOST_PER_HOST = 50;

/** How much of other Ingresses is compiled. Another tenant must not be able to make a review expensive. */
class Budget {
  #hosts = MOST_HOSTS;
  #entries = MOST_ENTRIES;

  allows(ingress: Ingress): boolean {
    const { hosts, entries } = sizeOf(ingress);
    if (hosts > this.#hosts || entries > this.#entries) return false;
    this.#hosts -= hosts;
    this.#entries -= entries;
    return true;
  }
}

interface Circumstances {
  existing: ExistingObjects;
  /** Stored Ingresses that name the host. */
  others: readonly Ingress[];
  isFree(namespace: string): boolean;
  now: number;
}

/** The claims to the host that are recorded, or that the manager will record: stored Ingresses come before the new one. */
function claimsFor(own: Wish, { existing, others, isFree, now }: Circumstances): HostClaimSpec[] {
  const { host, className, classNames } = own;
  const recorded = existing.claims.claimsTo(host, classNames).map(
    ({ namespace, since, className: ingressClassName, reservedUntil }): HostClaimSpec => ({
      ingressClassName,
      host,
      namespace,
      since,
      ...(reservedUntil !== undefined && { reservedUntil }),
    }),
  );
  if (host !== ALL_HOSTS && recorded.length > 0) return recorded;
  const claim = (namespace: string, since: string): HostClaimSpec => ({
    ingressClassName: className,
    host,
    namespace,
    since,
  });
  const stored = others
    .filter(({ metadata }) => isFree(`${metadata.namespace}`))
    .map(({ metadata }) => claim(`${metadata.namespace}`, metadata.creationTimestamp ?? ''))
    .sort((a, b) => (a.since < b.since ? -1 : 1));
  const expected = [...stored, ...(isFree(own.namespace) ? [claim(own.namespace, isoTime(now))] : [])];
  if (host !== ALL_HOSTS) return expected.slice(0, 1);
  const have = new Set(recorded.map(({ namespace }) => namespace));
  return [...recorded, ...expected.filter(({ namespace }) => !have.has(namespace))];
}

const isoTime = (time: number): string => new Date(time).toISOString();
