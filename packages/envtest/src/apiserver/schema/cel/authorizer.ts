/**
 * The CEL variable `authorizer`:
 * `authorizer.group('apps').resource('deployments').namespace('a').check('get').allowed()`.
 */
import type { Environment } from '@marcbachmann/cel-js';

/** A permission to check: either a path, or a resource. Fields that the expression does not set are empty. */
export interface AuthorizerQuestion {
  verb: string;
  path?: string;
  group?: string;
  resource?: string;
  subresource?: string;
  namespace?: string;
  name?: string;
  serviceAccount?: { namespace: string; name: string };
}

/** Answers whether the user of the request, or the given service account, has the permission. */
export type Authorize = (question: AuthorizerQuestion) => boolean;

/** An incomplete check. Every step returns a new one. */
class Check {
  readonly authorize: Authorize;
  readonly known: Omit<AuthorizerQuestion, 'verb'>;

  constructor(authorize: Authorize, known: Omit<AuthorizerQuestion, 'verb'>) {
    this.authorize = authorize;
    this.known = known;
  }

  with(more: Omit<AuthorizerQuestion, 'verb'>): Check {
    return new Check(this.authorize, { ...this.known, ...more });
  }
}

class Decision {
  readonly allowed: boolean;

  constructor(allowed: boolean) {
    this.allowed = allowed;
  }
}

const CHECK = 'kubernetes.authorization.Authorizer';
const DECISION = 'kubernetes.authorization.Decision';

export const authorizerFor = (authorize: Authorize): object => new Check(authorize, {});

export function registerAuthorizer(environment: Environment): Environment {
  const step = (name: 'path' | 'group' | 'resource' | 'subresource' | 'namespace' | 'name'): void => {
    environment.registerFunction(`${CHECK}.${name}(string): ${CHECK}`, (check: Check, value: string) =>
      check.with({ [name]: value }),
    );
  };
  environment
    .registerType(CHECK, Check)
    .registerType(DECISION, Decision)
    .registerVariable('authorizer', CHECK);
  for (const name of ['path', 'group', 'resource', 'subresource', 'namespace', 'name'] as const) step(name);
  return environment
    .registerFunction(
      `${CHECK}.serviceAccount(string, string): ${CHECK}`,
      (check: Check, namespace: string, name: string) => check.with({ serviceAccount: { namespace, name } }),
    )
    .registerFunction(
      `${CHECK}.check(string): ${DECISION}`,
      (check: Check, verb: string) => new Decision(check.authorize({ ...check.known, verb })),
    )
    .registerFunction(`${DECISION}.allowed(): bool`, (decision: Decision) => decision.allowed)
    .registerFunction(`${DECISION}.reason(): string`, () => '');
}
