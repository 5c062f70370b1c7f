/** `x-kubernetes-validations`: evaluates the CEL rules of a schema for an object. */
import { Optional } from '@marcbachmann/cel-js';
import { jsonEqual, type KubeObject, ownField } from '@tidegate/kube';
import { type FieldError, fieldError, printValue } from '@tidegate/serving';
import { oldField, oldItems } from '../correlate.ts';
import type { Schema, ValidationRule } from '../types.ts';
import { CompileError, compile, EvaluationError, type Program, usesOldSelf } from './compile.ts';
import { Budget, CostError, EXHAUSTED } from './cost.ts';
import { kubernetesEnvironment } from './environment.ts';
import { shownPath } from './field-path.ts';
import { toCel } from './values.ts';

/**
 * Evaluates the rules of the schema and of all values below the root. In an update, `old` is the stored object. It is
 * the value of `oldSelf` in transition rules, and violations in values that did not change are ignored (ratcheting,
 * KEP-4008).
 */
export function validateRules(
  object: KubeObject,
  schema: Schema,
  old?: KubeObject,
  budget = new Budget(),
): FieldError[] {
  return hasRules(schema) ? check({ value: object, schema, path: '', old, isRoot: true, budget }) : [];
}

/** Reported instead of rule errors if the object does not conform to the schema. */
export const RULES_NOT_CHECKED: FieldError = {
  reason: 'FieldValueInvalid',
  field: '<nil>',
  body: 'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

const known = new WeakMap<Schema, boolean>();

/** Most schemas have no rules, so most objects need no walk. */
export function hasRules(schema: Schema): boolean {
  const answer = known.get(schema);
  if (answer !== undefined) return answer;
  const { additionalProperties, items, properties = {} } = schema;
  const found =
    (schema['x-kubernetes-validations'] ?? []).length > 0 ||
    (items !== undefined && hasRules(items)) ||
    (typeof additionalProperties === 'object' && hasRules(additionalProperties)) ||
    Object.values(properties).some(hasRules);
  known.set(schema, found);
  return found;
}

interface Node {
  value: unknown;
  schema: Schema;
  path: string;
  old: unknown;
  isRoot?: boolean;
  /** The value is part of an unchanged value, even if it has no old counterpart of its own. */
  unchanged?: boolean;
  /** For all rules together. Once it is used up, no further rule runs. */
  budget: Budget;
}

function check(node: Node): FieldError[] {
  const { value, schema, path, old, budget } = node;
  if (value === null || value === undefined || !hasRules(schema) || budget.left < 0) return [];
  const unchanged = node.unchanged === true || (old !== undefined && jsonEqual(value, old));
  const errors = checkOwnRules({ ...node, unchanged });
  if (Array.isArray(value)) {
    const oldOf = oldItems(old, schema);
    const items = schema.items ?? {};
    for (const [index, item] of value.entries()) {
      errors.push(
        ...check({
          value: item,
          schema: items,
          path: `${path}[${index}]`,
          old: oldOf(item),
          unchanged,
          budget,
        }),
      );
    }
  } else if (typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      const field = ownField(schema.properties, key);
      const child = field ?? schema.additionalProperties;
      if (typeof child !== 'object') continue;
      const childPath = field === undefined ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      errors.push(
        ...check({ value: item, schema: child, path: childPath, old: oldField(old, key), unchanged, budget }),
      );
    }
  }
  return errors;
}

/**
 * A rule, compiled once per schema. A rule that cannot be compiled fails for every object: a stored CRD can contain
 * rules that a newer version rejects.
 */
interface CompiledRule {
  rule: ValidationRule;
  transition: boolean;
  program: Program | CompileError;
  message: Program | undefined;
}

const compiled = new WeakMap<Schema, CompiledRule[]>();

function rulesOf(schema: Schema): CompiledRule[] {
  const ready = compiled.get(schema);
  if (ready !== undefined) return ready;
  const rules = (schema['x-kubernetes-validations'] ?? []).map((rule) => ({
    rule,
    transition: usesOldSelf(rule.rule),
    program: tryCompile(rule.rule),
    message: compileMessage(rule.messageExpression),
  }));
  compiled.set(schema, rules);
  return rules;
}

const environment = () =>
  kubernetesEnvironment().registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');

function tryCompile(expression: string): Program | CompileError {
  try {
    return compile(expression, environment());
  } catch (error) {
    if (error instanceof CompileError) return error;
    throw error;
  }
}

function compileMessage(expression: string | undefined): Program | undefined {
  const program = expression === undefined ? undefined : tryCompile(expression);
  return program instanceof CompileError ? undefined : program;
}

/** Evaluates the rules of one schema node; `check` visits the nodes below it. */
function checkOwnRules({ value, schema, path, old, isRoot, unchanged, budget }: Node): FieldError[] {
  const rules = rulesOf(schema);
  if (rules.length === 0) return [];
  if (budget.left === 0) return [failedToRun(path, schema, exhausted(budget))];
  const self = toCel(value, schema, isRoot);
  const oldSelf = old === undefined || old === null ? undefined : toCel(old, schema, isRoot);
  const errors: FieldError[] = [];
  for (const compiledRule of rules) {
    const { rule, transition } = compiledRule;
    if (transition && oldSelf === undefined && rule.optionalOldSelf !== true) continue;
    // Ratcheting: a violation in an unchanged value does not block other changes.
    if (!transition && unchanged === true) continue;
    const optional = oldSelf === undefined ? Optional.none() : Optional.of(oldSelf);
    const variables = { self, oldSelf: rule.optionalOldSelf === true ? optional : oldSelf };
    const failure = run(compiledRule, variables, budget);
    if (budget.left < 0 && failure?.isLast !== true) {
      errors.push(failedToRun(path, schema, exhausted(budget)));
      return errors;
    }
    if (failure === undefined) continue;
    if ('cannotRun' in failure) errors.push(failedToRun(path, schema, failure.cannotRun));
    else {
      errors.push(
        broken(shownPath(path, schema, rule.fieldPath), value, schema, failure.detail, rule.reason),
      );
    }
    if (budget.left < 0) return errors;
  }
  return errors;
}

/** The error for the rules that do not run, and the end of the budget for all others. */
function exhausted(budget: Budget): string {
  budget.left = -1;
  return EXHAUSTED;
}

/**
 * `cannotRun`: the expression could not be evaluated. `detail`: it evaluated to false. `isLast`: no further rule must run,
 * and the failure says so.
 */
type Failure = ({ cannotRun: string } | { detail: string }) & { isLast?: true };

function run(
  { rule, program, message }: CompiledRule,
  variables: Record<string, unknown>,
  budget: Budget,
): Failure | undefined {
  if (program instanceof CompileError) return { cannotRun: `rule compile error: ${program.message}` };
  const shown = rule.message?.trim() || rule.rule.trim();
  try {
    if (program.evaluate(variables, budget) === true) return undefined;
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    if (error.cause instanceof CostError) {
      if (budget.left < 0) return { cannotRun: exhausted(budget), isLast: true };
      budget.left = -1;
      const cannotRun = `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`;
      return { cannotRun, isLast: true };
    }
    return {
      cannotRun:
        error.message === 'no such overload'
          ? `'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${shown}`
          : `${error.message} evaluating rule: ${shown}`,
    };
  }
  return {
    detail:
      messageOf(message, variables, budget) ?? (rule.message?.trim() || `failed rule: ${rule.rule.trim()}`),
  };
}

const MAX_MESSAGE_BYTES = 5 * 1024;

/** If the message expression fails, the static message is used. */
function messageOf(
  program: Program | undefined,
  variables: Record<string, unknown>,
  budget: Budget,
): string | undefined {
  if (program === undefined) return undefined;
  try {
    const text = String(program.evaluate(variables, budget)).trim();
    return text === '' || text.includes('\n') || text.length > MAX_MESSAGE_BYTES ? undefined : text;
  } catch (error) {
    if (error instanceof EvaluationError) return undefined;
    throw error;
  }
}

const NO_PATH = '<nil>';

const failedToRun = (path: string, schema: Schema, why: string): FieldError =>
  fieldError.invalid(path || NO_PATH, schema.type ?? '', why);

/** Objects and lists are not printed, because they can be long. */
function broken(
  path: string,
  value: unknown,
  schema: Schema,
  detail: string,
  reason: string | undefined,
): FieldError {
  const field = path || NO_PATH;
  const omitted = schema.type === 'object' || schema.type === 'array';
  switch (reason) {
    case 'FieldValueForbidden':
      return fieldError.forbidden(field, detail);
    case 'FieldValueRequired':
      return fieldError.required(field, detail);
    case 'FieldValueDuplicate':
      return omitted
        ? { reason: 'FieldValueDuplicate', field, body: 'Duplicate value' }
        : fieldError.duplicate(field, value);
    default: {
      const shown = omitted ? '' : `${printValue(value)}: `;
      return { reason: 'FieldValueInvalid', field, body: `Invalid value: ${shown}${detail}` };
    }
  }
}
