import { type Ingress, type IngressClass, type Secret, type Service, SetsByKey } from '@tidegate/kube';
import { Compiler, type IngressProblem, type Outcome } from '../compile/index.ts';
import type { HostName } from '../model.ts';

/** Inputs of the compiler in the manager. It needs no EndpointSlices: only routers use endpoints. */
export interface FamilyInputs {
  Ingress: Ingress;
  IngressClass: IngressClass;
  Service: Service;
  Secret: Secret;
}

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
  readonly #outcomes = new Map<string, Outcome>();
  readonly #ingressesOfHost = new SetsByKey();

  constructor(classNames: readonly string[], now: () => number) {
    this.classNames = classNames;
    this.#compiler = new Compiler({ classNames, now });
  }

  put<K extends keyof FamilyInputs>(kind: K, object: FamilyInputs[K]): void {
    this.#compiler.put(kind, object);
  }

  remove(kind: keyof FamilyInputs, key: string): void {
    this.#compiler.remove(kind, key);
  }

  recheckCertificates(): void {
    this.#compiler.recheckCertificates();
  }

  /** Number of rules by host. The empty host has the rules for all hosts. */
  get rules(): ReadonlyMap<HostName, number> {
    return this.#rules;
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
    for (const { host, routes, fallback } of delta?.hosts.set ?? []) {
      const rules = routes.length + (fallback === undefined ? 0 : 1);
      hosts ||= this.#rules.get(host) !== rules;
      this.#rules.set(host, rules);
      const source = (routes[0]?.action ?? fallback)?.source;
      if (source !== undefined) this.#oldest.set(host, `${source.namespace}/${source.name}`);
    }
    for (const host of delta?.hosts.remove ?? []) {
      hosts = this.#rules.delete(host) || hosts;
      this.#oldest.delete(host);
    }
    const problems: { ingress: string; problem: IngressProblem }[] = [];
    for (const outcome of outcomes.set) problems.push(...this.#setOutcome(outcome));
    for (const key of outcomes.remove) this.#removeOutcome(key);
    return { hosts, problems, ingresses: new Set([...outcomes.set.map(keyOfOutcome), ...outcomes.remove]) };
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

/** The manager does not watch EndpointSlices, so it cannot know whether a Service has endpoints. */
const isSeenHere = ({ reason }: IngressProblem): boolean => reason !== 'NoEndpoints';
