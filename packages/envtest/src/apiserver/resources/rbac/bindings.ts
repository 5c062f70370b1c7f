import { type Authored, define } from '../define.ts';
import { ageColumn, nameColumn, type TableColumn } from '../table.ts';
import { nameIsPathSegment } from '../validation/names.ts';
import { RBAC, type RoleBinding, type Subject } from './types.ts';
import { validateBinding, validateBindingUpdate } from './validate.ts';

const subjectsColumn = (
  name: string,
  subjectKind: string,
  kind: string,
  show = (subject: Subject): string => subject.name ?? '',
): TableColumn<RoleBinding> => ({
  name,
  wide: true,
  description: `${name} in the ${kind.charAt(0).toLowerCase()}${kind.slice(1)}`,
  cell: ({ subjects }) =>
    (subjects ?? [])
      .filter((subject) => subject.kind === subjectKind)
      .map(show)
      .join(', '),
});

const common = (kind: 'RoleBinding' | 'ClusterRoleBinding'): Authored<RoleBinding> => ({
  group: RBAC,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: kind === 'RoleBinding',
  createOnUpdate: true,
  name: nameIsPathSegment,
  table: [
    nameColumn,
    {
      name: 'Role',
      field: 'roleRef',
      cell: ({ roleRef }) => `${roleRef?.kind ?? ''}/${roleRef?.name ?? ''}`,
    },
    ageColumn,
    subjectsColumn('Users', 'User', kind),
    subjectsColumn('Groups', 'Group', kind),
    subjectsColumn(
      'ServiceAccounts',
      'ServiceAccount',
      kind,
      ({ namespace, name }) => `${namespace ?? ''}/${name ?? ''}`,
    ),
  ],
  defaults(binding) {
    binding.roleRef ??= {};
    binding.roleRef.apiGroup ||= RBAC;
    for (const subject of binding.subjects ?? []) {
      if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= RBAC;
    }
  },
  validate: (binding) => validateBinding(binding, kind),
  validateUpdate: validateBindingUpdate,
});

export const rolebindings = define<RoleBinding>(common('RoleBinding'));
export const clusterrolebindings = define<RoleBinding>(common('ClusterRoleBinding'));
