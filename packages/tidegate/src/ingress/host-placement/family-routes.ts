import { type Ingress, type IngressClass, type Secret, type Service, SetsByKey } from '@tidegate/kube';
import { Compiler, type IngressProblem, type Outcome } from '../compile/index.ts';
import type { HostName } from '../model.ts';

/** What the compiler is told of here. Endpoints are for those who carry the bytes. */
export interface FamilyInputs {
  Ingress: Ingress;
  IngressClass: IngressClass;
  Service: Service;
  Secret: Secret;
}

export interface RouteChanges {
  /** Whether there are other hosts, or other numbers of rules, than before. */
  readonly hosts: boolean;
  /** Ingresses of which something else is to be told than before. */
  readonly ingresses: ReadonlySet<string>;
  /** What is wrong with Ingresses that was not before. */
  readonly problems: readonly { readonly ingress: string; readonly problem: IngressProblem }[];
}

/** What comes of the Ingresses of a family: how many rules each host has, and what is to be told of each Ingress. */
export class FamilyRoutes {
  readonly classNames: readonly string[];
  readonly #compiler: Compiler;
  readonly #rules = new Map<HostName, number>();
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

  /** Hosts with the number of their rules; `` is what is for all. */
  get rules(): ReadonlyMap<HostName, number> {
    return this.#rules;
  }

  /** The key of an Ingress that the host has routes from. */
  ingressOf(host: HostName): string | undefined {
    return this.#oldest.get(host);
  }

  outcomeOf(ingress: string): Outcome | undefined {
    return this.#outcomes.get(ingress);
  }

  get outcomes(): Iterable<Outcome> {
    return this.#outcomes.values();
  }

  ingressesOf(host: HostName): ReadonlySet<string> {
    return this.#ingressesOfHost.get(host);
  }

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

/** Secrets of other types are not looked at here. */
const asSeenHere = (problem: IngressProblem): IngressProblem =>
  problem.reason === 'SecretNotFound'
    ? { ...problem, message: `${problem.message} Only those of type kubernetes.io/tls are looked for.` }
    : problem;

/** No endpoints are looked at here. */
const isSeenHere = ({ reason }: IngressProblem): boolean => reason !== 'NoEndpoints';
