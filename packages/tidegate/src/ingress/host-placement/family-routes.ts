import { SetsByKey } from '@tidegate/kube';
import {
  Compiler,
  type Departing,
  type Explain,
  type IngressProblem,
  type Inputs,
  isOnlyClosed,
  type Outcome,
} from '../compile/index.ts';
import type { Delta, HostName, Route, RouteAction } from '../model.ts';
import type { FailedHost } from '../provisioners/index.ts';
import { type Abilities, HostNeeds } from './host-needs.ts';
import { isSameSize, type Size } from './size.ts';

/** Kinds of the inputs of the compiler in the manager. It needs no EndpointSlices and ConfigMaps: only routers use endpoints and headers. */
export type FamilyKind = Exclude<keyof Inputs, 'EndpointSlice' | 'ConfigMap'>;

/** A problem that becomes an event. */
interface NewProblem {
  readonly ingress: string;
  readonly problem: { readonly reason: string; readonly field: string; readonly message: string };
}

export interface RouteChanges {
  /** Hosts that were added or removed, or whose number of rules has changed. */
  readonly hosts: ReadonlySet<HostName>;
  /** Keys of the Ingresses whose outcome has changed. */
  readonly ingresses: ReadonlySet<string>;
  /** Problems of Ingresses that are new. Each becomes one event. */
  readonly problems: readonly NewProblem[];
}

/**
 * The compiled Ingresses of one family: the number of rules of each host, which placement needs, and the outcome of each
 * Ingress, which the status needs. The routes themselves are not kept here; routers compile them on their own.
 */
export class FamilyRoutes {
  readonly classNames: readonly string[];
  readonly abilities: Abilities | undefined;
  readonly #needs: HostNeeds | undefined;
  readonly #compiler: Compiler;
  readonly #rules = new Map<HostName, number>();
  readonly #sizes = new Map<HostName, Size>();
  /** Hosts with a certificate. */
  readonly #certificates = new Set<HostName>();
  /**
   * By host: key of the Ingress that the first route comes from. Placement sorts hosts by the age of this Ingress.
   */
  readonly #oldest = new Map<HostName, string>();
  /** Hosts that have no rules at the moment, because their claim is moving to another namespace. */
  readonly #awaited = new Set<HostName>();
  readonly #outcomes = new Map<string, Outcome>();
  readonly #ingressesOfHost = new SetsByKey();

  /** `abilities`: of a provisioner that is not part of Tidegate. Others can serve every host, or report those that they cannot. */
  constructor(
    classNames: readonly string[],
    now: () => number,
    explain: Explain,
    abilities: Abilities | undefined,
  ) {
    this.classNames = classNames;
    this.abilities = abilities;
    this.#needs = abilities && new HostNeeds(abilities);
    this.#compiler = new Compiler({
      classNames,
      claimsRequired: true,
      // Only classes of known provisioners have a family.
      isOurs: () => true,
      explain,
      now,
    });
  }

  put<K extends FamilyKind>(kind: K, object: Inputs[K]): void {
    this.#compiler.put(kind, object);
  }

  remove(kind: FamilyKind, key: string): void {
    this.#compiler.remove(kind, key);
  }

  /** See `Compiler.setDeparting`. */
  setDeparting(departing: Departing): string[] {
    return this.#compiler.setDeparting(departing);
  }

  recheckCertificates(): void {
    this.#compiler.recheckCertificates();
  }

  /** Number of rules by host. The empty host has the rules for all hosts. */
  get rules(): ReadonlyMap<HostName, number> {
    return this.#rules;
  }

  /** The family has no rules at the moment, but will have some as soon as claims are recorded. */
  get isExpecting(): boolean {
    return this.#rules.size === 0 && this.#compiler.hasAwaited();
  }

  /** Whether the host has no routes now, but will have some as soon as its claim is recorded. */
  isAwaited(host: HostName): boolean {
    return this.#compiler.isAwaited(host);
  }

  /** Key of an Ingress that the host has routes from. */
  ingressOf(host: HostName): string | undefined {
    return this.#oldest.get(host);
  }

  outcomeOf(ingress: string): Outcome | undefined {
    return this.#outcomes.get(ingress);
  }

  get outcomes(): Iterable<Outcome> {
    return this.#outcomes.values();
  }

  /** Keys of the Ingresses that are served for the host. */
  ingressesOf(host: HostName): ReadonlySet<string> {
    return this.#ingressesOfHost.get(host);
  }

  /** Compiles all pending changes. */
  flush(): RouteChanges {
    const { delta, outcomes } = this.#compiler.flush();
    const hosts = new Set<HostName>();
    const judged = delta === undefined ? [] : (this.#needs?.apply(delta) ?? []);
    for (const entry of new Set([...(delta?.hosts.set ?? []), ...judged])) {
      const { host, routes, fallback } = entry;
      const isRefused = isOnlyClosed(entry) || this.unsupported.has(host);
      const rules = isRefused ? 0 : routes.length + (fallback === undefined ? 0 : 1);
      // A host that is owned, but has no rules, needs no place on a router.
      if (rules === 0) {
        if (this.#leave(host)) hosts.add(host);
        continue;
      }
      this.#awaited.delete(host);
      this.#rules.set(host, rules);
      const size = this.#sizeOf(
        host,
        [...routes.map(({ action }) => action), ...(fallback ? [fallback] : [])],
        routes,
      );
      if (!isSameSize(this.#sizes.get(host), size)) hosts.add(host);
      this.#sizes.set(host, size);
      const source = (routes[0]?.action ?? fallback)?.source;
      if (source !== undefined) this.#oldest.set(host, `${source.namespace}/${source.name}`);
    }
    for (const host of this.#changedCertificates(delta)) hosts.add(host);
    for (const host of delta?.hosts.remove ?? []) if (this.#leave(host)) hosts.add(host);
    for (const host of this.#awaited)
      if (!this.#compiler.isAwaited(host) && this.#forget(host)) hosts.add(host);
    const problems: NewProblem[] = [];
    for (const outcome of outcomes.set) problems.push(...this.#setOutcome(outcome));
    for (const key of outcomes.remove) this.#removeOutcome(key);
    for (const { host } of judged) problems.push(...this.#unsupportedProblems(host));
    return { hosts, problems, ingresses: new Set([...outcomes.set.map(keyOfOutcome), ...outcomes.remove]) };
  }

  /** Hosts that the provisioner cannot serve. They have no rules here. */
  get unsupported(): ReadonlyMap<HostName, FailedHost> {
    return this.#needs?.refused ?? NONE;
  }

  #unsupportedProblems(host: HostName): NewProblem[] {
    const refused = this.unsupported.get(host);
    if (refused === undefined) return [];
    const problem = { reason: refused.reason, field: 'spec', message: refused.message };
    return [...this.ingressesOf(host)].map((ingress) => ({ ingress, problem }));
  }

  /** What a host needs of a router. */
  sizeOf(host: HostName): Size | undefined {
    return this.#sizes.get(host);
  }

  #sizeOf(host: HostName, actions: readonly RouteAction[], routes: readonly Route[]): Size {
    const upstreams = new Set(actions.flatMap(({ backends }) => backends.map(({ upstream }) => upstream)));
    const names = [host, ...routes.map(({ path }) => path), ...upstreams];
    return {
      hosts: 1,
      rules: actions.length,
      certificates: Number(this.#certificates.has(host)),
      upstreams: upstreams.size,
      bytes: names.reduce((sum, name) => sum + name.length, 0),
    };
  }

  /** Returns placed hosts that have got or lost their certificate. */
  #changedCertificates(delta: Delta | undefined): HostName[] {
    const { set = [], remove = [] } = delta?.certificates ?? {};
    for (const { host, certificate } of set)
      if (certificate !== '') this.#certificates.add(host);
      else this.#certificates.delete(host);
    for (const host of remove) this.#certificates.delete(host);
    return [...set.map(({ host }) => host), ...remove].filter((host) => {
      const size = this.#sizes.get(host);
      const certificates = Number(this.#certificates.has(host));
      if (size === undefined || size.certificates === certificates) return false;
      this.#sizes.set(host, { ...size, certificates });
      return true;
    });
  }

  /** A host that changes its owner keeps its place until the claim of its new owner is recorded. */
  #leave(host: HostName): boolean {
    if (!this.#rules.has(host) || !this.#compiler.isAwaited(host)) return this.#forget(host);
    this.#awaited.add(host);
    return false;
  }

  #forget(host: HostName): boolean {
    this.#awaited.delete(host);
    this.#oldest.delete(host);
    this.#sizes.delete(host);
    return this.#rules.delete(host);
  }

  /** Returns the problems that are new. */
  #setOutcome(outcome: Outcome): NewProblem[] {
    const key = outcome.ingress;
    const seen = { ...outcome, problems: outcome.problems.filter(isSeenHere).map(asSeenHere) };
    const known = new Set(this.#outcomes.get(key)?.problems.map(textOf));
    this.#removeOutcome(key);
    this.#outcomes.set(key, seen);
    for (const host of seen.hosts) this.#ingressesOfHost.add(host, key);
    return seen.problems
      .filter((problem) => !known.has(textOf(problem)))
      .map((problem) => ({ ingress: key, problem }));
  }

  #removeOutcome(key: string): void {
    for (const host of this.#outcomes.get(key)?.hosts ?? []) this.#ingressesOfHost.delete(host, key);
    this.#outcomes.delete(key);
  }
}

const NONE: ReadonlyMap<HostName, FailedHost> = new Map();

const keyOfOutcome = ({ ingress }: Outcome): string => ingress;
const textOf = ({ reason, field, message }: IngressProblem): string => [reason, field, message].join('\n');

/** The manager watches Secrets of one type only, so a Secret of another type looks as if it does not exist. */
const asSeenHere = (problem: IngressProblem): IngressProblem =>
  problem.reason === 'SecretNotFound'
    ? { ...problem, message: `${problem.message} Its type must be kubernetes.io/tls.` }
    : problem;

/**
 * The manager does not watch EndpointSlices, so it cannot know whether a Service has endpoints. It does not read the passwords
 * of users either: routers log what is wrong with them. A claim that is not recorded
 * yet is on its way; if it was refused, the problem has another reason.
 */
const isSeenHere = ({ reason, about }: IngressProblem): boolean =>
  reason !== 'NoEndpoints' && reason !== 'HostNotClaimed' && about !== 'users';
