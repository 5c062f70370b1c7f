/** Validation of roles and bindings. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named } from '../validation/checks.ts';
import { isDNS1123Subdomain, isPathSegmentName } from '../validation/names.ts';
import { validateLabelSelector } from '../validation/selectors.ts';
import { type PolicyRule, RBAC, type Role, type RoleBinding, type RoleRef, type Subject } from './types.ts';

export function validateRole({ kind, rules, aggregationRule }: Role): FieldError[] {
  const selectors = aggregationRule?.clusterRoleSelectors ?? [];
  const path = 'aggregationRule.clusterRoleSelectors';
  return [
    ...each('rules', rules ?? [], (rule, at) => validateRule(rule, kind === 'Role', at)),
    ...(aggregationRule !== undefined && selectors.length === 0
      ? [fieldError.required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')]
      : []),
    ...each(path, selectors, validateLabelSelector),
  ];
}

function validateRule(rule: PolicyRule, namespaced: boolean, path: string): FieldError[] {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const errors: FieldError[] = [];
  if (verbs.length === 0) {
    errors.push(fieldError.required(`${path}.verbs`, 'verbs must contain at least one value'));
  }
  if (nonResourceURLs.length > 0) {
    const wrong = (detail: string): void =>
      void errors.push(fieldError.invalid(`${path}.nonResourceURLs`, nonResourceURLs, detail));
    if (namespaced) wrong('namespaced rules cannot apply to non-resource URLs');
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      wrong('rules cannot apply to both regular resources and non-resource URLs');
    }
    return errors;
  }
  if (apiGroups.length === 0) {
    errors.push(
      fieldError.required(`${path}.apiGroups`, 'resource rules must supply at least one api group'),
    );
  }
  if (resources.length === 0) {
    errors.push(fieldError.required(`${path}.resources`, 'resource rules must supply at least one resource'));
  }
  return errors;
}

export function validateBinding({ subjects, roleRef = {} }: RoleBinding, kind: string): FieldError[] {
  const { apiGroup = '', kind: roleKind = '', name = '' } = roleRef;
  const namespaced = kind === 'RoleBinding';
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  return [
    ...(apiGroup === RBAC ? [] : [fieldError.notSupported('roleRef.apiGroup', apiGroup, [RBAC])]),
    ...(kinds.includes(roleKind) ? [] : [fieldError.notSupported('roleRef.kind', roleKind, kinds)]),
    ...(name === ''
      ? [fieldError.required('roleRef.name')]
      : named('roleRef.name', name, isPathSegmentName(name))),
    ...each('subjects', subjects, (subject, at) => validateSubject(subject, namespaced, at)),
  ];
}

function validateSubject(subject: Subject, namespaced: boolean, path: string): FieldError[] {
  const { kind = '', apiGroup = '', name = '', namespace = '' } = subject;
  const errors = name === '' ? [fieldError.required(`${path}.name`)] : [];
  const group = (wanted: string): FieldError[] =>
    apiGroup === wanted ? [] : [fieldError.notSupported(`${path}.apiGroup`, apiGroup, [wanted])];
  switch (kind) {
    case 'ServiceAccount':
      return [
        ...errors,
        ...(name === '' ? [] : named(`${path}.name`, name, isDNS1123Subdomain(name))),
        ...group(''),
        ...(!namespaced && namespace === '' ? [fieldError.required(`${path}.namespace`)] : []),
      ];
    case 'User':
    case 'Group':
      return [...errors, ...group(RBAC)];
    default:
      return [...errors, fieldError.notSupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group'])];
  }
}

/** roleRef is immutable: a user that may update a binding can change its subjects but not its role. */
export function validateBindingUpdate({ roleRef = {} }: RoleBinding, old: RoleBinding): FieldError[] {
  const same = (field: keyof RoleRef): boolean => (roleRef[field] ?? '') === (old.roleRef?.[field] ?? '');
  if (same('apiGroup') && same('kind') && same('name')) return [];
  const shown = { APIGroup: roleRef.apiGroup ?? '', Kind: roleRef.kind ?? '', Name: roleRef.name ?? '' };
  return [fieldError.invalid('roleRef', shown, 'cannot change roleRef')];
}
