/** The expressions of admission policies. They share `variables`, which are evaluated on first use. */
import type { Environment } from '@marcbachmann/cel-js';
import type { FieldError } from '@tidegate/serving';
import { authorizerFor } from './authorizer.ts';
import { compile, type Program } from './compile.ts';
import { type MatchVariables, objectsAndAuthorizer, REQUEST, validateExpression } from './match-condition.ts';
import { toDynamic } from './values.ts';

export interface PolicyVariables extends MatchVariables {
  /** The namespace of the object; null if the object is not in a namespace. */
  namespaceObject: unknown;
  /** Null if the policy has no parameters. */
  params: unknown;
}

/** What a policy declares. `params` exist only in policies with a `paramKind`, and `variables` only if it has some. */
export interface Declared {
  hasParams: boolean;
  variables?: readonly { name?: string }[];
}

/** Values of one request. Compiled expressions are evaluated with it. */
export type PolicyScope = Record<string, unknown>;

function environmentOf({ hasParams }: Declared): Environment {
  const environment = objectsAndAuthorizer().registerVariable('namespaceObject', 'dyn');
  return hasParams ? environment.registerVariable('params', 'dyn') : environment;
}

/** Throws a CompileError. The program throws an EvaluationError. */
export const compilePolicyExpression = (expression: string, declared: Declared): Program =>
  compile(
    expression,
    environmentOf(declared).registerVariable('request', 'dyn').registerVariable('variables', 'dyn'),
  );

/** Validates an expression before a policy is accepted. */
export const validatePolicyExpression = (
  expression: string,
  declared: Declared,
  types: readonly string[],
  field: string,
): FieldError[] => {
  const environment = environmentOf(declared).registerVariable({ name: 'request', schema: REQUEST });
  if (declared.variables !== undefined) {
    const schema = Object.fromEntries(declared.variables.map(({ name = '' }) => [name, 'dyn']));
    environment.registerVariable({ name: 'variables', schema });
  }
  return validateExpression(expression, environment, types, field);
};

/** `programs` are the compiled variables in their order, so that a variable can use those before it. */
export function policyScope(values: PolicyVariables, programs: ReadonlyMap<string, Program>): PolicyScope {
  const { authorize = () => false } = values;
  const variables = {};
  const scope: PolicyScope = {
    object: toDynamic(values.object ?? null),
    oldObject: toDynamic(values.oldObject ?? null),
    request: toDynamic(values.request ?? {}),
    namespaceObject: toDynamic(values.namespaceObject ?? null),
    params: toDynamic(values.params ?? null),
    authorizer: authorizerFor(authorize),
    variables,
  };
  for (const [name, program] of programs) {
    let result: { value: unknown } | undefined;
    // An error in a variable matters only to the expressions that use it.
    Object.defineProperty(variables, name, {
      enumerable: true,
      get: () => {
        result ??= { value: program.evaluate(scope) };
        return result.value;
      },
    });
  }
  return scope;
}
