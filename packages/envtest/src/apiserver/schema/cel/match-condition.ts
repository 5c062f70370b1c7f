/** The `matchConditions` of admission webhooks: whether a webhook receives a request. */
import type { Environment } from '@marcbachmann/cel-js';
import { type FieldError, fieldError } from '@tidegate/serving';
import { type Authorize, authorizerFor, registerAuthorizer } from './authorizer.ts';
import { CompileError, compile, type Program } from './compile.ts';
import type { Budget } from './cost.ts';
import { kubernetesEnvironment } from './environment.ts';
import { toDynamic } from './values.ts';

export interface MatchVariables {
  /** Null for a delete. */
  object: unknown;
  /** Null for a create. */
  oldObject: unknown;
  /** The AdmissionRequest without its objects. */
  request: unknown;
  /** Implements `authorizer.group(...).check(...)`. Without it, every check is denied. */
  authorize?: Authorize;
}

/** What a condition costs is taken from the budget. */
export type MatchCondition = (variables: MatchVariables, budget?: Budget) => boolean;

/** Throws a CompileError. The returned function throws an EvaluationError. */
export function compileMatchCondition(expression: string): MatchCondition {
  const program: Program = compile(expression, objectsAndAuthorizer().registerVariable('request', 'dyn'));
  return ({ object, oldObject, request, authorize = () => false }, budget) => {
    const scope = {
      object: toDynamic(object ?? null),
      oldObject: toDynamic(oldObject ?? null),
      request: toDynamic(request ?? {}),
      authorizer: authorizerFor(authorize),
    };
    return program.evaluate(scope, budget) === true;
  };
}

export const objectsAndAuthorizer = (): Environment =>
  registerAuthorizer(kubernetesEnvironment())
    .registerVariable('object', 'dyn')
    .registerVariable('oldObject', 'dyn');

const KIND = { group: 'string', version: 'string', kind: 'string' };
const RESOURCE = { group: 'string', version: 'string', resource: 'string' };

/** The fields of an AdmissionRequest, except the objects, which are separate variables. */
export const REQUEST = {
  kind: KIND,
  resource: RESOURCE,
  subResource: 'string',
  requestKind: KIND,
  requestResource: RESOURCE,
  requestSubResource: 'string',
  name: 'string',
  namespace: 'string',
  operation: 'string',
  userInfo: {
    username: 'string',
    uid: 'string',
    groups: 'list<string>',
    extra: 'map<string, list<string>>',
  },
  dryRun: 'bool',
  options: 'dyn',
};

/** Validates a condition before a webhook configuration is accepted. */
export const validateMatchCondition = (expression: string, field: string): FieldError[] =>
  validateExpression(
    expression,
    objectsAndAuthorizer().registerVariable({ name: 'request', schema: REQUEST }),
    ['bool'],
    field,
  );

/** The expression must compile, and its type must be one of `types`, or unknown. */
export function validateExpression(
  expression: string,
  environment: Environment,
  types: readonly string[],
  field: string,
): FieldError[] {
  try {
    const compiled = compile(expression, environment);
    const type = compiled.type === 'null' ? 'null_type' : compiled.type;
    if (types.length === 0 || types.includes(type) || type === 'dyn') return [];
    const expected = types.length === 1 ? types[0] : `one of [${types.join(' ')}]`;
    return [fieldError.invalid(field, expression, `must evaluate to ${expected} but got ${type}`)];
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return [fieldError.invalid(field, expression, error.message)];
  }
}
