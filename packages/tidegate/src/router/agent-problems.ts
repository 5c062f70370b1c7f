import { MOST_PROBLEM_TEXT, MOST_ROUTER_PROBLEMS, type RouterProblem } from '../api/index.ts';
import type { Unserved } from '../dataplane/driver.ts';
import type { Compiler, Outcome } from '../ingress/compile/index.ts';
import type { Changes } from '../ingress/model.ts';

/**
 * Problems of Ingresses that only the router can find, for its report in the status of the L7Router: the manager does not read
 * Secrets with users, and does not know how much room the data plane has. The manager turns them into events, because a router
 * has no permission to create events.
 */
export class AgentProblems {
  readonly #compiler: Pick<Compiler, 'ingressesWith'>;
  /** Problems of users, by Ingress. */
  readonly #users = new Map<string, RouterProblem[]>();

  constructor(compiler: Pick<Compiler, 'ingressesWith'>) {
    this.#compiler = compiler;
  }

  note({ set, remove }: Changes<string, Outcome>): void {
    for (const ingress of remove) this.#users.delete(ingress);
    for (const { ingress, problems } of set) {
      const own = problems.filter(({ about }) => about === 'users');
      if (own.length === 0) this.#users.delete(ingress);
      else
        this.#users.set(
          ingress,
          own.map(({ reason, field, message }) => problem(ingress, reason, `${field}: ${message}`)),
        );
    }
  }

  /** The first problems, in a stable order. `unserved`: what the data plane has no room for. */
  list(unserved: readonly Unserved[]): RouterProblem[] {
    const all = [...this.#users.values()].flat().concat(this.#withoutRoom(unserved));
    return all.sort(byText).slice(0, MOST_ROUTER_PROBLEMS);
  }

  /** One problem of each kind for an Ingress: it may have thousands of hosts. */
  #withoutRoom(unserved: readonly Unserved[]): RouterProblem[] {
    const found = new Map<string, RouterProblem>();
    for (const { kind, key, namespace } of unserved) {
      for (const ingress of this.#compiler.ingressesWith(kind, key)) {
        if (namespace !== undefined && !ingress.startsWith(`${namespace}/`)) continue;
        const id = `${kind} ${ingress}`;
        const message = `${EFFECTS[kind](key)} The memory of the router is full, and this namespace uses the most of it. ${ADVICE}`;
        if (!found.has(id)) found.set(id, problem(ingress, 'MemoryExceeded', message));
      }
    }
    return [...found.values()];
  }
}

const ADVICE =
  'Use fewer or smaller Secrets, lists and paths in this namespace, or move Ingresses to another class.';

const EFFECTS: Readonly<Record<Unserved['kind'], (key: string) => string>> = {
  hosts: (host) => `Requests for ${host === '' ? 'rules without a host' : host} get the response 503.`,
  upstreams: () => 'Requests for some of its backends get the response 503.',
  certificates: (host) => `Clients of ${host} get the certificate of the router.`,
  credentials: (secret) => `Requests for paths with the users of Secret ${secret} get the response 503.`,
};

const problem = (ingress: string, reason: string, message: string): RouterProblem => ({
  ingress,
  reason,
  message: message.slice(0, MOST_PROBLEM_TEXT),
});

const byText = (a: RouterProblem, b: RouterProblem): number =>
  compare(a.ingress, b.ingress) || compare(a.reason, b.reason) || compare(a.message, b.message);

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a !== b));
