/**
 * Computes what the RBAC objects of a manifest let an account do: its own permissions (`accessOf`), the accounts that it can
 * use (`accountsOf`), and whether that amounts to the whole cluster (`everythingOf`).
 */

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
  /** Of ValidatingAdmissionPolicies and their bindings. */
  spec?: {
    failurePolicy?: string;
    policyName?: string;
    validationActions?: string[];
    matchConstraints?: { resourceRules: { resources: string[]; operations: string[] }[] };
    matchConditions?: { expression: string }[];
    paramKind?: object;
    matchResources?: object;
  };
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

const READS = ['get', 'list', 'watch', 'deletecollection', 'delete'];
/** Everything with a template of pods. */
const WORKLOADS = [
  'pods',
  'replicationcontrollers',
  'apps/deployments',
  'apps/daemonsets',
  'apps/statefulsets',
  'apps/replicasets',
  'batch/jobs',
  'batch/cronjobs',
];
const WEBHOOK_CONFIGURATIONS = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'];

/** The namespaces in which the account can run or enter pods, or get tokens. `*` for all. */
export const namespacesOf = (objects: readonly RbacObject[], account: string): string[] => [
  ...new Set(
    accessOf(objects, account)
      .filter(({ resource, verb }) => {
        const [of = '', subresource] = splitOf(resource);
        if (subresource === undefined) return WORKLOADS.includes(of) && !READS.includes(verb);
        if (resource === 'serviceaccounts/token') return verb === 'create';
        return ['pods/exec', 'pods/attach', 'pods/ephemeralcontainers', 'pods/proxy'].includes(resource);
      })
      .map(({ scope }) => scope),
  ),
];

/** `apps/deployments/scale` is `apps/deployments` and `scale`; `pods/exec` is `pods` and `exec`. */
function splitOf(resource: string): [string, string?] {
  const parts = resource.split('/');
  const hasGroup = parts[0]?.includes('.') || ['apps', 'batch', 'policy'].includes(parts[0] ?? '');
  const of = parts.slice(0, hasGroup ? 2 : 1).join('/');
  return [of, parts[hasGroup ? 2 : 1]];
}

/** The account, and all accounts that it can use: those of namespaces in which it can run pods, and so on. */
export function accountsOf(objects: readonly RbacObject[], account: string): string[] {
  const known = [
    ...objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata),
    ...objects.flatMap(({ subjects = [] }) => subjects).filter(({ kind }) => kind === 'ServiceAccount'),
  ];
  const reached = new Set([account]);
  for (const each of reached) {
    const namespaces = namespacesOf(objects, each);
    for (const { namespace = '', name } of known)
      if (namespaces.includes(namespace) || namespaces.includes('*')) reached.add(`${namespace}/${name}`);
  }
  return [...reached].toSorted();
}

/** Why the account, or an account that it can use, controls the whole cluster. Empty if it does not. */
export const everythingOf = (objects: readonly RbacObject[], account: string): string[] => [
  ...new Set(reasonsOf(objects, account)),
];

const reasonsOf = (objects: readonly RbacObject[], account: string): string[] =>
  accountsOf(objects, account).flatMap((each) => [
    ...accessOf(objects, each)
      .filter(({ resource, verb }) => {
        const [group = '', name = ''] = resource.split('/');
        const isConfiguration =
          group === 'admissionregistration.k8s.io' && WEBHOOK_CONFIGURATIONS.includes(name);
        return isConfiguration && !READS.includes(verb) && !isGuarded(objects, each, name);
      })
      .map(({ verb, resource }) => `${each} can ${verb} ${resource}, and so see and change every request`),
    ...namespacesOf(objects, each)
      .filter((namespace) => !restricts(objects, namespace))
      .map((namespace) => `${each} can run privileged pods in ${namespace}`),
    ...accessOf(objects, each)
      .filter(({ verb, resource, name }) => ['list', 'get'].includes(verb) && resource === 'secrets' && !name)
      .filter(({ scope }) => scope === '*')
      .map(() => `${each} can read all Secrets`),
  ]);

const restricts = (objects: readonly RbacObject[], namespace: string): boolean =>
  objects.some(
    ({ kind, metadata }) =>
      kind === 'Namespace' &&
      metadata.name === namespace &&
      metadata.labels?.['pod-security.kubernetes.io/enforce'] === 'restricted',
  );

/** Whether a policy without exceptions decides which changes of this resource the account may make. */
function isGuarded(objects: readonly RbacObject[], account: string, resource: string): boolean {
  const user = `system:serviceaccount:${account.replace('/', ':')}`;
  return objects.some(
    ({ kind, metadata, spec }) =>
      kind === 'ValidatingAdmissionPolicy' &&
      spec?.failurePolicy === 'Fail' &&
      spec.paramKind === undefined &&
      spec.matchConstraints?.resourceRules.some(
        ({ resources, operations }) =>
          resources.includes(resource) && ['CREATE', 'UPDATE'].every((each) => operations.includes(each)),
      ) &&
      (spec.matchConditions ?? []).every(
        ({ expression }) => expression === `request.userInfo.username == ${JSON.stringify(user)}`,
      ) &&
      objects.some(
        (binding) =>
          binding.kind === 'ValidatingAdmissionPolicyBinding' &&
          binding.spec?.policyName === metadata.name &&
          binding.spec.matchResources === undefined &&
          binding.spec.validationActions?.includes('Deny'),
      ),
  );
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
