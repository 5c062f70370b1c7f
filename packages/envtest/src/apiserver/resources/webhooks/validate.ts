/** Validation of webhook configurations. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { validateMatchCondition } from '../../schema/cel/match-condition.ts';
import { each, named, supported } from '../validation/checks.ts';
import { isDNS1035Label, isDNS1123Subdomain, isLabelKey } from '../validation/names.ts';
import { validateLabelSelector } from '../validation/selectors.ts';
import { validateClientConfig } from './client-config.ts';
import type { Webhook, WebhookConfiguration, WebhookRule } from './types.ts';

const REVIEW_VERSIONS = ['v1', 'v1beta1'];
const SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const MAX_CONDITIONS = 64;

export function validateWebhookConfiguration({ webhooks }: WebhookConfiguration): FieldError[] {
  const names = new Set<string>();
  return each('webhooks', webhooks, (webhook, at) => {
    const { name = '' } = webhook;
    const duplicate = names.has(name) ? [fieldError.duplicate(`${at}.name`, name)] : [];
    if (name !== '') names.add(name);
    return [
      ...validateWebhook(webhook, at),
      ...validateReviewVersions(webhook.admissionReviewVersions ?? [], `${at}.admissionReviewVersions`),
      ...duplicate,
    ];
  });
}

function validateWebhook(webhook: Webhook, path: string): FieldError[] {
  const { sideEffects, timeoutSeconds } = webhook;
  return [
    ...validateQualifiedName(webhook.name ?? '', `${path}.name`),
    ...each(`${path}.rules`, webhook.rules, validateRule),
    ...supported(`${path}.failurePolicy`, webhook.failurePolicy, ['Fail', 'Ignore']),
    ...supported(`${path}.matchPolicy`, webhook.matchPolicy, ['Equivalent', 'Exact']),
    ...(sideEffects === undefined
      ? [fieldError.required(`${path}.sideEffects`, `must specify one of ${SIDE_EFFECTS.join(', ')}`)]
      : supported(`${path}.sideEffects`, sideEffects, SIDE_EFFECTS)),
    ...(timeoutSeconds !== undefined && (timeoutSeconds > 30 || timeoutSeconds < 1)
      ? [
          fieldError.invalid(
            `${path}.timeoutSeconds`,
            timeoutSeconds,
            'the timeout value must be between 1 and 30 seconds',
          ),
        ]
      : []),
    ...validateLabelSelector(webhook.namespaceSelector, `${path}.namespaceSelector`),
    ...validateLabelSelector(webhook.objectSelector, `${path}.objectSelector`),
    ...supported(`${path}.reinvocationPolicy`, webhook.reinvocationPolicy, ['IfNeeded', 'Never']),
    ...validateClientConfig(webhook.clientConfig ?? {}, `${path}.clientConfig`),
    ...validateConditions(webhook.matchConditions ?? [], `${path}.matchConditions`),
  ];
}

function validateQualifiedName(name: string, path: string): FieldError[] {
  if (name === '') return [fieldError.required(path)];
  const messages = isDNS1123Subdomain(name);
  if (messages.length > 0) return [fieldError.invalid(path, name, messages.join(','))];
  return name.split('.').length < 3
    ? [fieldError.invalid(path, name, 'should be a domain with at least three segments separated by dots')]
    : [];
}

function validateReviewVersions(versions: string[], path: string): FieldError[] {
  if (versions.length === 0) {
    return [fieldError.required(path, `must specify one of ${REVIEW_VERSIONS.join(', ')}`)];
  }
  const errors = each(path, versions, (version, at, i) =>
    versions.indexOf(version) < i
      ? [fieldError.invalid(at, version, 'duplicate version')]
      : named(at, version, isDNS1035Label(version)),
  );
  if (versions.some((version) => REVIEW_VERSIONS.includes(version))) return errors;
  const detail = `must include at least one of ${REVIEW_VERSIONS.join(', ')}`;
  return [...errors, fieldError.invalid(path, versions, detail)];
}

/** The list must not be empty, and `*` must be its only item. */
function validateAlternatives(values: string[], what: string, path: string): FieldError[] {
  if (values.length === 0) return [fieldError.required(path)];
  return values.length > 1 && values.includes('*')
    ? [fieldError.invalid(path, values, `if '*' is present, must not specify other ${what}`)]
    : [];
}

export function validateRule(rule: WebhookRule, path: string): FieldError[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [] } = rule;
  return [
    ...validateAlternatives(operations, 'operations', `${path}.operations`),
    ...each(`${path}.operations`, operations, (operation, at) => supported(at, operation, OPERATIONS)),
    ...validateAlternatives(apiGroups, 'API groups', `${path}.apiGroups`),
    ...validateAlternatives(apiVersions, 'API versions', `${path}.apiVersions`),
    ...each(`${path}.apiVersions`, apiVersions, (version, at) =>
      version === '' ? [fieldError.required(at)] : [],
    ),
    ...validateResources(resources, `${path}.resources`),
    ...supported(`${path}.scope`, rule.scope, ['*', 'Cluster', 'Namespaced']),
  ];
}

function validateResources(resources: string[], path: string): FieldError[] {
  if (resources.length === 0) return [fieldError.required(path)];
  const wholeResources = new Set<string>();
  const everywhere = new Set<string>();
  const errors = each(path, resources, (resource, at) => {
    if (resource === '') return [fieldError.required(at)];
    const [name = '', subresource] = resource.split('/', 2);
    if (subresource === undefined) return [];
    const covered = [
      ...(wholeResources.has(name) ? [`${name}/*`] : []),
      ...(everywhere.has(subresource) ? [`*/${subresource}`] : []),
    ];
    if (subresource === '*') wholeResources.add(name);
    if (name === '*') everywhere.add(subresource);
    return covered.map((by) =>
      fieldError.invalid(at, resource, `if '${by}' is present, must not specify ${resource}`),
    );
  });
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(fieldError.invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  const plain = resources.some((resource) => resource !== '*' && resource !== '' && !resource.includes('/'));
  if (resources.includes('*') && plain) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    errors.push(fieldError.invalid(path, resources, detail));
  }
  return errors;
}

/** The names and expressions of `matchConditions`. `check` compiles an expression. */
export function validateConditions(
  conditions: NonNullable<Webhook['matchConditions']>,
  path: string,
  check: (expression: string, path: string) => FieldError[] = validateMatchCondition,
): FieldError[] {
  const names = new Set<string>();
  return [
    ...(conditions.length > MAX_CONDITIONS
      ? [fieldError.tooMany(path, conditions.length, MAX_CONDITIONS)]
      : []),
    ...each(path, conditions, ({ name = '', expression = '' }, at) => {
      const duplicate = names.has(name) ? [fieldError.duplicate(`${at}.name`, name)] : [];
      if (name !== '') names.add(name);
      return [
        ...(expression.trim() === ''
          ? [fieldError.required(`${at}.expression`)]
          : check(expression.trim(), `${at}.expression`)),
        ...(name === '' ? [fieldError.required(`${at}.name`)] : named(`${at}.name`, name, isLabelKey(name))),
        ...duplicate,
      ];
    }),
  ];
}
