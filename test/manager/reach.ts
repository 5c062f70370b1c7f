/** Computes what the RBAC objects of a manifest let an account do. */

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  verbs: string[];
}

export interface RbacObject {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  rules?: Rule[];
  aggregationRule?: { clusterRoleSelectors: { matchLabels: Record<string, string> }[] };
  roleRef?: { kind: string; name: string };
  subjects?: { kind: string; name: string; namespace?: string }[];
}

/** One permission. `scope` is a namespace, or `*` for the whole cluster. */
export interface Access {
  readonly scope: string;
  readonly verb: string;
  /** `group/resource`, without the group for the core group. */
  readonly resource: string;
  readonly name?: string;
}

/** Everything that the account, `namespace/name`, may do because of these objects. */
export function accessOf(objects: readonly RbacObject[], account: string): Access[] {
  const [accountNamespace = '', accountName = ''] = account.split('/');
  const groups = [
    `system:serviceaccounts`,
    `system:serviceaccounts:${accountNamespace}`,
    'system:authenticated',
  ];
  const isSubject = ({ kind, name, namespace }: NonNullable<RbacObject['subjects']>[number]): boolean =>
    kind === 'ServiceAccount'
      ? name === accountName && namespace === accountNamespace
      : kind === 'Group' && groups.includes(name);
  return objects
    .filter(({ kind, subjects = [] }) => kind.endsWith('RoleBinding') && subjects.some(isSubject))
    .flatMap((binding) => {
      const scope = binding.kind === 'ClusterRoleBinding' ? '*' : (binding.metadata.namespace ?? '');
      return rulesOf(objects, binding).flatMap((rule) => accessIn(rule, scope));
    });
}

function rulesOf(objects: readonly RbacObject[], { roleRef, metadata }: RbacObject): Rule[] {
  const role = objects.find(
    (object) =>
      object.kind === roleRef?.kind &&
      object.metadata.name === roleRef.name &&
      (object.kind === 'ClusterRole' || object.metadata.namespace === metadata.namespace),
  );
  if (role === undefined) throw new Error(`${roleRef?.kind} ${roleRef?.name} is bound but does not exist`);
  const selectors = role.aggregationRule?.clusterRoleSelectors ?? [];
  const aggregated = objects.filter(
    ({ kind, metadata: { labels = {} } }) =>
      kind === 'ClusterRole' &&
      selectors.some(({ matchLabels }) =>
        Object.entries(matchLabels).every(([key, value]) => labels[key] === value),
      ),
  );
  return [role, ...aggregated].flatMap(({ rules = [] }) => rules);
}

function accessIn({ apiGroups = [], resources = [], resourceNames, verbs }: Rule, scope: string): Access[] {
  const names = resourceNames ?? [undefined];
  return apiGroups.flatMap((group) =>
    resources.flatMap((each) =>
      names.flatMap((name) =>
        verbs.map((verb) => ({
          scope,
          verb,
          resource: group === '' ? each : `${group}/${each}`,
          ...(name !== undefined && { name }),
        })),
      ),
    ),
  );
}
