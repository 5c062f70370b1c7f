/** `matchConditions` of admission webhooks: whether a webhook wants to see a request at all. */
import { type Authorize, authorizerFor, registerAuthorizer } from './authorizer.ts';
import { compile, type Program } from './compile.ts';
import { kubernetesEnvironment } from './environment.ts';
import { toDynamic } from './values.ts';

export interface MatchVariables {
  /** Null on a delete. */
  object: unknown;
  /** Null on a create. */
  oldObject: unknown;
  /** The AdmissionRequest without its objects. */
  request: unknown;
  /** Answers `authorizer.group(...).check(...)`; without it nobody may do anything. */
  authorize?: Authorize;
}

export type MatchCondition = (variables: MatchVariables) => boolean;

/** Throws a CompileError; the function that it returns throws an EvaluationError. */
export function compileMatchCondition(expression: string): MatchCondition {
  const program: Program = compile(
    expression,
    registerAuthorizer(kubernetesEnvironment())
      .registerVariable('object', 'dyn')
      .registerVariable('oldObject', 'dyn')
      .registerVariable('request', 'dyn'),
  );
  return ({ object, oldObject, request, authorize = () => false }) =>
    program.evaluate({
      object: toDynamic(object ?? null),
      oldObject: toDynamic(oldObject ?? null),
      request: toDynamic(request ?? {}),
      authorizer: authorizerFor(authorize),
    }) === true;
}
