import { type Authored, define } from '../define.ts';
import { nameIsPathSegment } from '../validation/names.ts';
import { RBAC, type Role } from './types.ts';
import { validateRole } from './validate.ts';

const common = (kind: 'Role' | 'ClusterRole'): Authored<Role> => ({
  group: RBAC,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: kind === 'Role',
  createOnUpdate: true,
  name: nameIsPathSegment,
  defaults(role) {
    role.rules ??= null;
  },
  validate: validateRole,
});

export const roles = define<Role>(common('Role'));
export const clusterroles = define<Role>(common('ClusterRole'));
