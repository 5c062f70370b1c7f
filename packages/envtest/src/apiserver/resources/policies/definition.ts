import { define, statusOf } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { formatLabelSelector } from '../validation/selectors.ts';
import type { MatchResources, PolicyBinding, ValidatingAdmissionPolicy } from './types.ts';
import { validateBinding, validatePolicy } from './validate.ts';

const GROUP = 'admissionregistration.k8s.io';
const UNSET = '<unset>';

export const validatingadmissionpolicies = define<ValidatingAdmissionPolicy>({
  group: GROUP,
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
  categories: ['api-extensions'],
  generation: true,
  parts: ['spec', 'status'],
  subresources: statusOf(GROUP, 'v1', 'ValidatingAdmissionPolicy'),
  table: [
    nameColumn,
    {
      name: 'Validations',
      type: 'integer',
      description: 'The number of validations.',
      cell: ({ spec }) => (spec.validations ?? []).length,
    },
    {
      name: 'ParamKind',
      description: 'The kind of the parameters.',
      cell: ({ spec: { paramKind } }) =>
        paramKind === undefined ? UNSET : `${paramKind.apiVersion}/${paramKind.kind}`,
    },
    ageColumn,
  ],
  defaults({ spec }) {
    spec.failurePolicy ??= 'Fail';
    defaultMatch(spec.matchConstraints);
  },
  validate: validatePolicy,
});

export const validatingadmissionpolicybindings = define<PolicyBinding>({
  group: GROUP,
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  namespaced: false,
  categories: ['api-extensions'],
  generation: true,
  parts: ['spec'],
  table: [
    nameColumn,
    {
      name: 'PolicyName',
      description: 'The policy that the binding puts into effect.',
      cell: ({ spec }) => spec.policyName ?? '',
    },
    {
      name: 'ParamRef',
      description: 'The objects that are the parameters of the policy.',
      cell: ({ spec: { paramRef } }) => {
        if (paramRef === undefined) return UNSET;
        // Without a namespace, it depends on the kind of the parameters whether they are in one.
        return paramRef.name === undefined
          ? formatLabelSelector(paramRef.selector)
          : `${paramRef.namespace ?? '*'}/${paramRef.name}`;
      },
    },
    ageColumn,
  ],
  defaults: ({ spec }) => defaultMatch(spec.matchResources),
  validate: validateBinding,
});

function defaultMatch(match: MatchResources | undefined): void {
  if (match === undefined) return;
  match.matchPolicy ??= 'Equivalent';
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])]) {
    rule.scope ??= '*';
  }
}
