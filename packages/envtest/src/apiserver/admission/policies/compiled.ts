/** A ValidatingAdmissionPolicy with compiled expressions, and its result for one request. Pure. */
import type { ValidatingAdmissionPolicy, Validation } from '../../resources/policies/types.ts';
import { EvaluationError, type Program } from '../../schema/cel/compile.ts';
import { Budget, CONDITIONS_BUDGET, EXHAUSTED } from '../../schema/cel/cost.ts';
import {
  compilePolicyExpression,
  type Declared,
  type PolicyScope,
  type PolicyVariables,
  policyScope,
} from '../../schema/cel/policy.ts';

/** Why a policy does not admit a request. */
export interface Violation {
  message: string;
  reason: string;
}

/** The policy cannot be evaluated for the request. Its failurePolicy decides. */
export class PolicyFailure extends Error {}

interface CompiledValidation {
  validation: Validation;
  program: Program;
  message: Program | undefined;
}

/** Longer messages are cut off by kube-apiserver too: they are replaced by the static message. */
const MAX_MESSAGE_BYTES = 5 * 1024;
const DEFAULT_REASON = 'Invalid';

export class CompiledPolicy {
  readonly #policy: ValidatingAdmissionPolicy;
  readonly #conditions: Program[];
  readonly #variables: Map<string, Program>;
  readonly #validations: CompiledValidation[];

  /** Throws a CompileError. Policies are validated before they are stored, so this is unusual. */
  constructor(policy: ValidatingAdmissionPolicy) {
    const { matchConditions = [], variables = [], validations = [], paramKind } = policy.spec;
    const declared: Declared = { hasParams: paramKind !== undefined };
    const compile = (expression: string | undefined): Program =>
      compilePolicyExpression((expression ?? '').trim(), declared);
    this.#policy = policy;
    this.#conditions = matchConditions.map(({ expression }) => compile(expression));
    this.#variables = new Map(variables.map(({ name = '', expression }) => [name, compile(expression)]));
    this.#validations = validations.map((validation) => ({
      validation,
      program: compile(validation.expression),
      message: validation.messageExpression ? compile(validation.messageExpression) : undefined,
    }));
  }

  /** The violations for one request and one object of parameters. None if a matchCondition is false. */
  evaluate(values: PolicyVariables): Violation[] {
    const scope = policyScope(values, this.#variables);
    if (!this.#matches(scope)) return [];
    const budget = new Budget();
    return this.#validations.flatMap((compiled) => {
      const violation = this.#check(compiled, scope, budget);
      if (budget.left < 0) throw new PolicyFailure(EXHAUSTED);
      return violation ?? [];
    });
  }

  /** A false condition decides. Errors matter only if no condition is false. */
  #matches(scope: PolicyScope): boolean {
    const errors: string[] = [];
    const budget = new Budget(CONDITIONS_BUDGET);
    for (const condition of this.#conditions) {
      try {
        const matches = condition.evaluate(scope, budget) === true;
        if (budget.left < 0) throw new PolicyFailure(EXHAUSTED);
        if (!matches) return false;
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error;
        errors.push(error.message);
      }
    }
    if (errors.length > 0) throw new PolicyFailure(errors.join(', '));
    return true;
  }

  #check(
    { validation, program, message }: CompiledValidation,
    scope: PolicyScope,
    budget: Budget,
  ): Violation | undefined {
    const expression = validation.expression?.trim() ?? '';
    const reason = validation.reason ?? DEFAULT_REASON;
    try {
      if (program.evaluate(scope, budget) === true) return undefined;
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      if (this.#policy.spec.failurePolicy === 'Ignore') return undefined;
      return { reason, message: `expression '${expression}' resulted in error: ${error.message}` };
    }
    const text = computed(message, scope, budget) ?? validation.message?.trim();
    return { reason, message: text || `failed expression: ${expression}` };
  }
}

/** Undefined if the expression fails or its result is not one line of text. */
function computed(program: Program | undefined, scope: PolicyScope, budget: Budget): string | undefined {
  try {
    const text = program?.evaluate(scope, budget);
    if (typeof text !== 'string') return undefined;
    const line = text.trim();
    return line.includes('\n') || Buffer.byteLength(line) > MAX_MESSAGE_BYTES ? undefined : line || undefined;
  } catch (error) {
    if (error instanceof EvaluationError) return undefined;
    throw error;
  }
}
