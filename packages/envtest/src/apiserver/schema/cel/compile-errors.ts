/** Validates the CEL rules of a schema before a CustomResourceDefinition is accepted. */
import type { Environment } from '@marcbachmann/cel-js';
import { type FieldError, fieldError } from '@tidegate/serving';
import type { Schema, ValidationRule } from '../types.ts';
import { CompileError, compile, usesOldSelf } from './compile.ts';
import { kubernetesEnvironment } from './environment.ts';
import { schemaAt } from './field-path.ts';

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/** Errors in the structure of rules come before compile errors. */
export function compileErrors(schema: Schema, path: string): FieldError[] {
  const { written, compiled } = check(schema, path, undefined);
  return [...written, ...compiled];
}

interface Found {
  written: FieldError[];
  compiled: FieldError[];
}

/** `uncorrelated`: the path of a list above whose items cannot be matched between the old and the new object. */
function check(schema: Schema, path: string, uncorrelated: string | undefined): Found {
  const found: Found = { written: [], compiled: [] };
  const look = (child: Schema, childPath: string, above: string | undefined): void => {
    const { written, compiled } = check(child, childPath, above);
    found.written.push(...written);
    found.compiled.push(...compiled);
  };
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const atomic = schema['x-kubernetes-map-type'] === 'atomic' ? path : undefined;
    look(property, `${path}.properties[${key}]`, uncorrelated ?? atomic);
  }
  if (typeof schema.additionalProperties === 'object') {
    look(schema.additionalProperties, `${path}.additionalProperties`, uncorrelated);
  }
  if (schema.items !== undefined) {
    const atomic = schema['x-kubernetes-list-type'] === 'map' ? undefined : path;
    look(schema.items, `${path}.items`, uncorrelated ?? atomic);
  }
  const rules = [...(schema['x-kubernetes-validations'] ?? []).entries()];
  const at = (index: number): string => `${path}.x-kubernetes-validations[${index}]`;
  found.written.push(...rules.flatMap(([index, rule]) => checkWriting(rule, schema, at(index))));
  // If a rule is malformed, here or below, the rules are not compiled.
  if (found.written.length === 0) {
    found.compiled.push(
      ...rules.flatMap(([index, rule]) => checkRule(rule, schema, at(index), uncorrelated)),
    );
  }
  return found;
}

/** Compiles the rule and its message. Then checks that `oldSelf` is used only where an old value can be found. */
function checkRule(
  rule: ValidationRule,
  schema: Schema,
  path: string,
  uncorrelated: string | undefined,
): FieldError[] {
  const environment = environmentFor(schema);
  const errors = [
    ...checkExpression(
      rule.rule,
      rule,
      environment,
      'bool',
      `${path}.rule`,
      'cel expression must evaluate to a bool',
    ),
    ...(rule.messageExpression === undefined
      ? []
      : checkExpression(
          rule.messageExpression,
          rule,
          environment,
          'string',
          `${path}.messageExpression`,
          'messageExpression must evaluate to a string',
        )),
  ];
  if (!usesOldSelf(rule.rule)) {
    if (rule.optionalOldSelf !== undefined) {
      const detail = 'may not be set if oldSelf is not used in rule';
      errors.push(fieldError.invalid(`${path}.optionalOldSelf`, rule.optionalOldSelf, detail));
    }
  } else if (uncorrelated !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`;
    errors.push(fieldError.invalid(`${path}.rule`, rule.rule, detail));
  }
  return errors;
}

/** Checks that need no compilation: missing or malformed texts, unknown reasons and field paths. */
function checkWriting(rule: ValidationRule, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { message = '', messageExpression = '', reason, fieldPath } = rule;
  if (rule.rule.trim() === '') errors.push(fieldError.required(`${path}.rule`, 'rule is not specified'));
  else if (message !== '' && message.trim() === '') {
    errors.push(fieldError.invalid(`${path}.message`, message, 'must be non-empty if specified'));
  } else if (/[\n\r]/.test(message.trim())) {
    errors.push(fieldError.invalid(`${path}.message`, message, 'must not contain line breaks'));
  } else if (/[\n\r]/.test(rule.rule.trim()) && message === '') {
    const detail = 'message must be specified if rule contains line breaks';
    errors.push(fieldError.required(`${path}.message`, detail));
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    const detail = 'messageExpression must be non-empty if specified';
    errors.push(fieldError.required(`${path}.messageExpression`, detail));
  }
  if (reason !== undefined && !REASONS.includes(reason)) {
    errors.push(fieldError.notSupported(`${path}.reason`, reason, REASONS));
  }
  if (fieldPath !== undefined && schemaAt(schema, fieldPath) === undefined) {
    errors.push(fieldError.invalid(`${path}.fieldPath`, fieldPath, 'must be a valid path'));
  }
  return errors;
}

const SCALARS: Record<string, string> = {
  string: 'string',
  integer: 'int',
  number: 'double',
  boolean: 'bool',
};

/** Declares scalars with their type, to find errors early. The content of objects is checked when a rule runs. */
function environmentFor(schema: Schema): Environment {
  const plain = schema.format === undefined || schema.type !== 'string';
  const type = (plain && SCALARS[schema.type ?? '']) || 'dyn';
  return kubernetesEnvironment().registerVariable('self', type).registerVariable('oldSelf', 'dyn');
}

function checkExpression(
  expression: string,
  rule: ValidationRule,
  environment: Environment,
  type: string,
  field: string,
  wrongType: string,
): FieldError[] {
  try {
    const program = compile(expression, environment);
    return program.type === type || program.type === 'dyn'
      ? []
      : [fieldError.invalid(field, printed(rule), wrongType)];
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return [fieldError.invalid(field, printed(rule), error.message)];
  }
}

/** The rule as kube-apiserver prints it: with the names of its Go fields. */
const printed = (rule: ValidationRule): Record<string, unknown> => ({
  Rule: rule.rule,
  Message: rule.message ?? '',
  MessageExpression: rule.messageExpression ?? '',
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? '',
  OptionalOldSelf: rule.optionalOldSelf ?? null,
});
