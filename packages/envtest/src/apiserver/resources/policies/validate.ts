/** Validation of admission policies and their bindings, with the messages of kube-apiserver. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { type Declared, validatePolicyExpression } from '../../schema/cel/policy.ts';
import { each, named, oneOf, required, supported } from '../validation/checks.ts';
import {
  isDNS1035Label,
  isDNS1123Subdomain,
  isLabelKey,
  isPathSegmentName,
  nameIsSubdomain,
} from '../validation/names.ts';
import { validateLabelSelector } from '../validation/selectors.ts';
import { validateConditions, validateRule } from '../webhooks/validate.ts';
import type {
  MatchResources,
  NamedRule,
  ParamKind,
  ParamRef,
  PolicyBinding,
  PolicySpec,
  ValidatingAdmissionPolicy,
  Validation,
  Variable,
} from './types.ts';

const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const ACTIONS = ['Audit', 'Deny', 'Warn'];
const NO_RULE = 'validations or auditAnnotations must contain at least one item';
const EXCLUSIVE = 'name and selector are mutually exclusive';
const MAX_AUDIT_ANNOTATIONS = 20;
/** Identifiers of CEL, except its reserved words. */
const IDENTIFIER =
  /^(?!(?:true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)$)[A-Za-z_][A-Za-z0-9_]*$/;

export function validatePolicy({ metadata, spec }: ValidatingAdmissionPolicy): FieldError[] {
  const { variables = [] } = spec;
  const hasParams = spec.paramKind !== undefined;
  const declared: Declared = { hasParams, ...(variables.length > 0 && { variables }) };
  const { matchConstraints } = spec;
  return [
    ...oneOf('spec.failurePolicy', spec.failurePolicy, ['Fail', 'Ignore']),
    ...(spec.paramKind ? validateParamKind(spec.paramKind, 'spec.paramKind') : []),
    ...(matchConstraints === undefined
      ? [fieldError.required('spec.matchConstraints')]
      : [
          ...validateMatchResources(matchConstraints, 'spec.matchConstraints'),
          ...(matchConstraints.resourceRules?.length
            ? []
            : [fieldError.required('spec.matchConstraints.resourceRules')]),
        ]),
    ...validateConditions(spec.matchConditions ?? [], 'spec.matchConditions', (expression, at) =>
      validatePolicyExpression(expression, { hasParams }, ['bool'], at),
    ),
    ...each('spec.variables', variables, (variable, at, i) =>
      validateVariable(variable, { hasParams, variables: variables.slice(0, i) }, at),
    ),
    ...validateResults(metadata.name ?? '', spec, declared),
  ];
}

/** The parts that produce the result of a policy. */
function validateResults(name: string, spec: PolicySpec, declared: Declared): FieldError[] {
  const { validations = [], auditAnnotations = [] } = spec;
  if (validations.length === 0 && auditAnnotations.length === 0) {
    return ['validations', 'auditAnnotations'].map((field) => fieldError.required(`spec.${field}`, NO_RULE));
  }
  const path = 'spec.auditAnnotations';
  const keys = new Set<string>();
  const detail = `must not have more than ${MAX_AUDIT_ANNOTATIONS} auditAnnotations`;
  return [
    ...each('spec.validations', validations, (validation, at) =>
      validateValidation(validation, declared, at),
    ),
    ...(auditAnnotations.length > MAX_AUDIT_ANNOTATIONS
      ? [fieldError.invalid(path, auditAnnotations, detail)]
      : []),
    ...each(path, auditAnnotations, ({ key = '', valueExpression = '' }, at) => {
      const full = `${name}/${key}`;
      const expression = valueExpression.trim();
      const errors = [
        ...named(`${at}.key`, full, isLabelKey(full)),
        ...(expression === ''
          ? [fieldError.required(`${at}.valueExpression`, 'valueExpression is not specified')]
          : validatePolicyExpression(expression, declared, ['string', 'null_type'], `${at}.valueExpression`)),
        ...(keys.has(key) ? [fieldError.duplicate(`${at}.key`, key)] : []),
      ];
      keys.add(key);
      return errors;
    }),
  ];
}

function validateParamKind({ apiVersion = '', kind = '' }: ParamKind, path: string): FieldError[] {
  const lower = kind.toLowerCase();
  return [
    ...(apiVersion === ''
      ? [fieldError.required(`${path}.apiVersion`)]
      : validateApiVersion(apiVersion, `${path}.apiVersion`)),
    ...(kind === ''
      ? [fieldError.required(`${path}.kind`)]
      : isDNS1035Label(lower).map((message) =>
          fieldError.invalid(
            `${path}.kind`,
            kind,
            `may have mixed case, but should otherwise match: ${message}`,
          ),
        )),
  ];
}

function validateApiVersion(apiVersion: string, path: string): FieldError[] {
  const parts = apiVersion === '/' ? [''] : apiVersion.split('/');
  if (parts.length > 2) {
    return [fieldError.invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  }
  const [version = '', group = ''] = parts.reverse();
  return [
    ...(group === '' ? [] : named(path, group, isDNS1123Subdomain(group))),
    ...(version === ''
      ? [fieldError.invalid(path, apiVersion, 'version must be specified')]
      : named(path, version, isDNS1035Label(version))),
  ];
}

function validateMatchResources(match: MatchResources, path: string): FieldError[] {
  return [
    ...oneOf(`${path}.matchPolicy`, match.matchPolicy, ['Equivalent', 'Exact']),
    ...validateLabelSelector(match.namespaceSelector, `${path}.namespaceSelector`),
    ...validateLabelSelector(match.objectSelector, `${path}.objectSelector`),
    ...each(`${path}.resourceRules`, match.resourceRules, validateNamedRule),
    ...each(`${path}.excludeResourceRules`, match.excludeResourceRules, validateNamedRule),
  ];
}

function validateNamedRule(rule: NamedRule, path: string): FieldError[] {
  const names = rule.resourceNames ?? [];
  return [
    ...each(`${path}.resourceNames`, names, (name, at, i) => [
      ...named(at, name, isPathSegmentName(name)),
      ...(names.indexOf(name) < i ? [fieldError.duplicate(at, name)] : []),
    ]),
    ...validateRule(rule, path),
  ];
}

function validateVariable(
  { name = '', expression = '' }: Variable,
  declared: Declared,
  path: string,
): FieldError[] {
  const nameErrors =
    name.trim() === ''
      ? [fieldError.required(`${path}.name`, 'name is not specified')]
      : IDENTIFIER.test(name)
        ? []
        : [fieldError.invalid(`${path}.name`, name, 'must be a valid CEL identifier')];
  return [
    ...nameErrors,
    ...(expression.trim() === ''
      ? [fieldError.required(`${path}.expression`, 'expression is not specified')]
      : validatePolicyExpression(expression, declared, [], `${path}.expression`)),
  ];
}

function validateValidation(validation: Validation, declared: Declared, path: string): FieldError[] {
  const { expression = '', message = '', messageExpression = '', reason } = validation;
  const isBlank = (text: string): boolean => text !== '' && text.trim() === '';
  const blank = (field: string, text: string): FieldError =>
    fieldError.invalid(`${path}.${field}`, text, 'must be non-empty if specified');
  return [
    ...(expression.trim() === ''
      ? [fieldError.required(`${path}.expression`, 'expression is not specified')]
      : validatePolicyExpression(expression, declared, ['bool'], `${path}.expression`)),
    ...(isBlank(messageExpression) ? [blank('messageExpression', messageExpression)] : []),
    ...(messageExpression.trim() === ''
      ? []
      : validatePolicyExpression(messageExpression, declared, ['string'], `${path}.messageExpression`)),
    ...(isBlank(message) ? [blank('message', message)] : []),
    ...(/[\n\r]/.test(message.trim())
      ? [fieldError.invalid(`${path}.message`, message, 'must not contain line breaks')]
      : []),
    ...supported(`${path}.reason`, reason, REASONS),
  ];
}

export function validateBinding({ spec }: PolicyBinding): FieldError[] {
  const { policyName = '', paramRef, matchResources, validationActions = [] } = spec;
  const path = 'spec.validationActions';
  const both = validationActions.includes('Deny') && validationActions.includes('Warn');
  const pointless =
    'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
  return [
    ...required('spec.policyName', policyName),
    ...(policyName === '' ? [] : named('spec.policyName', policyName, nameIsSubdomain(policyName, false))),
    ...(paramRef === undefined ? [] : validateParamRef(paramRef, 'spec.paramRef')),
    ...(matchResources === undefined ? [] : validateMatchResources(matchResources, 'spec.matchResources')),
    ...each(path, validationActions, (action, at, i) => [
      ...supported(at, action, ACTIONS),
      ...(validationActions.indexOf(action) < i ? [fieldError.duplicate(at, action)] : []),
    ]),
    ...(both ? [fieldError.invalid(path, validationActions, pointless)] : []),
    ...(validationActions.length === 0
      ? [fieldError.required(path, 'at least one validation action is required')]
      : []),
  ];
}

function validateParamRef(ref: ParamRef, path: string): FieldError[] {
  const { name = '', selector, parameterNotFoundAction } = ref;
  return [
    ...(name === '' ? [] : named(`${path}.name`, name, isPathSegmentName(name))),
    ...(name !== '' && selector !== undefined ? [fieldError.forbidden(`${path}.name`, EXCLUSIVE)] : []),
    ...validateLabelSelector(selector, `${path}.selector`),
    ...(name !== '' && selector !== undefined ? [fieldError.forbidden(`${path}.selector`, EXCLUSIVE)] : []),
    ...(name === '' && selector === undefined
      ? [fieldError.required(path, 'one of name or selector must be specified')]
      : []),
    ...oneOf(`${path}.parameterNotFoundAction`, parameterNotFoundAction, ['Deny', 'Allow']),
  ];
}
