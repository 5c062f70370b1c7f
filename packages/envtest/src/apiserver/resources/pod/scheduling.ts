/** Validation of scheduling constraints: node selectors, affinity, tolerations and topology spread. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named, positive, supported } from '../validation/checks.ts';
import { isDNS1123Label, isLabelKey, isLabelValue, nameIsSubdomain } from '../validation/names.ts';
import { validateLabelSelector } from '../validation/selectors.ts';
import type {
  Affinity,
  NodeSelector,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from './types.ts';

const NOT_AN_OPERATOR = 'not a valid selector operator';
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

type Requirement = NonNullable<NodeSelectorTerm['matchExpressions']>[number];

function validateExpression(requirement: Requirement, strictValues: boolean, path: string): FieldError[] {
  const { key = '', operator = '', values = [] } = requirement;
  const errors: FieldError[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      errors.push(fieldError.required(`${path}.values`, detail));
    }
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      errors.push(fieldError.forbidden(`${path}.values`, detail));
    }
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) {
      const detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
      errors.push(fieldError.required(`${path}.values`, detail));
    }
  } else errors.push(fieldError.invalid(`${path}.operator`, operator, NOT_AN_OPERATOR));
  errors.push(...named(`${path}.key`, key, isLabelKey(key)));
  if (!strictValues) return errors;
  return [...errors, ...each(`${path}.values`, values, (value, at) => named(at, value, isLabelValue(value)))];
}

function validateFieldExpression(requirement: Requirement, path: string): FieldError[] {
  const { key = '', operator = '', values = [] } = requirement;
  const errors: FieldError[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length !== 1) {
      const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
      errors.push(fieldError.required(`${path}.values`, detail));
    }
  } else errors.push(fieldError.invalid(`${path}.operator`, operator, NOT_AN_OPERATOR));
  if (key !== 'metadata.name') {
    errors.push(fieldError.invalid(`${path}.key`, key, 'not a valid field selector key'));
    return errors;
  }
  return [...errors, ...each(`${path}.values`, values, (v, at) => named(at, v, nameIsSubdomain(v, false)))];
}

function validateTerm(term: NodeSelectorTerm, strictValues: boolean, path: string): FieldError[] {
  return [
    ...each(`${path}.matchExpressions`, term.matchExpressions, (r, at) =>
      validateExpression(r, strictValues, at),
    ),
    ...each(`${path}.matchFields`, term.matchFields, validateFieldExpression),
  ];
}

const validateWeight = (weight: number | undefined, path: string): FieldError[] =>
  (weight ?? 0) < 1 || (weight ?? 0) > 100
    ? [fieldError.invalid(`${path}.weight`, weight ?? 0, 'must be in the range 1-100')]
    : [];

export function validateNodeSelector(selector: NodeSelector, path: string): FieldError[] {
  const terms = selector.nodeSelectorTerms ?? [];
  const at = `${path}.nodeSelectorTerms`;
  if (terms.length === 0) return [fieldError.required(at, 'must have at least one node selector term')];
  return each(at, terms, (term, here) => validateTerm(term, true, here));
}

function validateNodeAffinity(affinity: NonNullable<Affinity['nodeAffinity']>, path: string): FieldError[] {
  const required = affinity[REQUIRED];
  return [
    ...(required === undefined ? [] : validateNodeSelector(required, `${path}.${REQUIRED}`)),
    ...each(`${path}.${PREFERRED}`, affinity[PREFERRED], ({ weight, preference = {} }, at) => [
      ...validateWeight(weight, at),
      ...validateTerm(preference, false, `${at}.preference`),
    ]),
  ];
}

function validatePodTerm(term: PodAffinityTerm, path: string): FieldError[] {
  const { topologyKey = '' } = term;
  return [
    ...validateLabelSelector(term.labelSelector, `${path}.labelSelector`),
    ...validateLabelSelector(term.namespaceSelector, `${path}.namespaceSelector`),
    ...(term.namespaces ?? []).flatMap((name) => named(`${path}.namespace`, name, isDNS1123Label(name))),
    ...(topologyKey === '' ? [fieldError.required(`${path}.topologyKey`, 'can not be empty')] : []),
    ...named(`${path}.topologyKey`, topologyKey, isLabelKey(topologyKey)),
  ];
}

const validatePodAffinity = (affinity: PodAffinity | undefined, path: string): FieldError[] => [
  ...each(`${path}.${REQUIRED}`, affinity?.[REQUIRED], validatePodTerm),
  ...each(`${path}.${PREFERRED}`, affinity?.[PREFERRED], ({ weight, podAffinityTerm = {} }, at) => [
    ...validateWeight(weight, at),
    ...validatePodTerm(podAffinityTerm, `${at}.podAffinityTerm`),
  ]),
];

export const validateAffinity = (affinity: Affinity | undefined, path: string): FieldError[] => [
  ...(affinity?.nodeAffinity ? validateNodeAffinity(affinity.nodeAffinity, `${path}.nodeAffinity`) : []),
  ...validatePodAffinity(affinity?.podAffinity, `${path}.podAffinity`),
  ...validatePodAffinity(affinity?.podAntiAffinity, `${path}.podAntiAffinity`),
];

export const validateTolerations = (tolerations: Toleration[] | undefined, path: string): FieldError[] =>
  each(path, tolerations, ({ key = '', operator = '', value = '', effect = '', tolerationSeconds }, at) => {
    const errors = key === '' ? [] : named(`${at}.key`, key, isLabelKey(key));
    if (key === '' && operator !== 'Exists') {
      const detail =
        'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(fieldError.invalid(`${at}.operator`, operator, detail));
    }
    if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
      const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
      errors.push(fieldError.invalid(`${at}.effect`, effect, detail));
    }
    if (operator === 'Equal' || operator === '') {
      const messages = isLabelValue(value);
      if (messages.length > 0) errors.push(fieldError.invalid(`${at}.operator`, value, messages.join(';')));
    } else if (operator === 'Exists') {
      const detail = "value must be empty when `operator` is 'Exists'";
      if (value !== '') errors.push(fieldError.invalid(`${at}.operator`, value, detail));
    } else {
      const known = operator === 'Lt' || operator === 'Gt' ? ['Lt', 'Gt'] : [];
      errors.push(fieldError.notSupported(`${at}.operator`, operator, ['Equal', 'Exists', ...known]));
    }
    return [...errors, ...(effect === '' ? [] : supported(`${at}.effect`, effect, EFFECTS))];
  });

export const validateSpread = (
  constraints: TopologySpreadConstraint[] | undefined,
  path: string,
): FieldError[] =>
  each(path, constraints, (constraint, at, index) => {
    const { maxSkew, topologyKey = '', whenUnsatisfiable = '', minDomains } = constraint;
    const actions = ['DoNotSchedule', 'ScheduleAnyway'];
    const repeated = (constraints ?? [])
      .slice(index + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    return [
      ...positive(`${at}.maxSkew`, maxSkew),
      ...(topologyKey === '' ? [fieldError.required(`${at}.topologyKey`, 'can not be empty')] : []),
      ...supported(`${at}.whenUnsatisfiable`, whenUnsatisfiable, actions),
      ...(repeated
        ? [
            fieldError.duplicate(
              `${at}.{topologyKey, whenUnsatisfiable}`,
              `{${topologyKey}, ${whenUnsatisfiable}}`,
            ),
          ]
        : []),
      ...(minDomains === undefined ? [] : positive(`${at}.minDomains`, minDomains)),
      ...validateLabelSelector(constraint.labelSelector, `${at}.labelSelector`),
    ];
  });
