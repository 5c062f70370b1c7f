import { SetsByKey } from '@tidegate/kube';
import {
  Compiler,
  type Explain,
  type IngressProblem,
  type Inputs,
  isOnlyClosed,
  type Outcome,
} from '../compile/index.ts';
import type { HostName } from '../model.ts';

/** Kinds of the inputs of the compiler in the manager. It needs no EndpointSlices: only routers use endpoints. */
export type FamilyKind = Exclude<keyof Inputs, 'EndpointSlice'>;

export interface RouteChanges {
  /** Whether hosts, or their numbers of rules, have changed. */
  readonly hosts: boolean;
  /** Keys of the Ingresses whose outcome has changed. */
  readonly ingresses: ReadonlySet<string>;
  /** Problems of Ingresses that are new. Each becomes one event. */
  readonly problems: readonly { readonly ingress: string; readonly problem: IngressProblem }[];
}

/**
 * The compiled Ingresses of one family: the number of rules of each host, which placement needs, and the outcome of each
 * Ingress, which the status needs. The routes themselves are not kept here; routers compile them on their own.
 */
export class FamilyRoutes {
  readonly classNames: readonly string[];
  readonly #compiler: Compiler;
  readonly #rules = new Map<HostName, number>();
  /**
   * By host: key of the Ingress that the first route comes from. Placement sorts hosts by the age of this Ingress.
   */
  readonly #oldest = new Map<HostName, string>();
  /** Hosts that have no rules at the moment, because their claim is moving to another namespace. */
  readonly #awaited = new Set<HostName>();
  readonly #outcomes = new Map<string, Outcome>();
  readonly #ingressesOfHost = new SetsByKey();

  constructor(classNames: readonly string[], now: () => number, explain: Explain) {
    this.classNames = classNames;
    this.#compiler = new Compiler({ classNames, claimsRequired: true, explain, now });
  }

  put<K extends FamilyKind>(kind: K, object: Inputs[K]): void {
    this.#compiler.put(kind, object);
  }

  remove(kind: FamilyKind, key: string): void {
    this.#compiler.remove(kind, key);
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
    let hosts = false;
    for (const entry of delta?.hosts.set ?? []) {
      const { host, routes, fallback } = entry;
      const rules = isOnlyClosed(entry) ? 0 : routes.length + (fallback === undefined ? 0 : 1);
      // A host that is owned, but has no rules, needs no place on a router.
      if (rules === 0) {
        hosts = this.#leave(host) || hosts;
        continue;
      }
      this.#awaited.delete(host);
      hosts ||= this.#rules.get(host) !== rules;
      this.#rules.set(host, rules);
      const source = (routes[0]?.action ?? fallback)?.source;
      if (source !== undefined) this.#oldest.set(host, `${source.namespace}/${source.name}`);
    }
    for (const host of delta?.hosts.remove ?? []) hosts = this.#leave(host) || hosts;
    for (const host of this.#awaited)
      if (!this.#compiler.isAwaited(host)) hosts = this.#forget(host) || hosts;
    const problems: { ingress: string; problem: IngressProblem }[] = [];
    for (const outcome of outcomes.set) problems.push(...this.#setOutcome(outcome));
    for (const key of outcomes.remove) this.#removeOutcome(key);
    return { hosts, problems, ingresses: new Set([...outcomes.set.map(keyOfOutcome), ...outcomes.remove]) };
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
    return this.#rules.delete(host);
  }

  /** Returns the problems that are new. */
  #setOutcome(outcome: Outcome): { ingress: string; problem: IngressProblem }[] {
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

const keyOfOutcome = ({ ingress }: Outcome): string => ingress;
const textOf = ({ reason, field, message }: IngressProblem): string => [reason, field, message].join('\n');

/** The manager watches Secrets of one type only, so a Secret of another type looks as if it does not exist. */
const asSeenHere = (problem: IngressProblem): IngressProblem =>
  problem.reason === 'SecretNotFound'
    ? { ...problem, message: `${problem.message} Its type must be kubernetes.io/tls.` }
    : problem;

/**
 * The manager does not watch EndpointSlices, so it cannot know whether a Service has endpoints. A claim that is not recorded
 * yet is on its way; if it was refused, the problem has another reason.
 */
const isSeenHere = ({ reason }: IngressProblem): boolean =>
  reason !== 'NoEndpoints' && reason !== 'HostNotClaimed';
