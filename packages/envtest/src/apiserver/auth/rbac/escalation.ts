/**
 * Privilege escalation checks: a user cannot grant permissions through RBAC that it does not have, unless RBAC allows
 * the verbs `escalate` or `bind`.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@tidegate/kube';
import { forbidden, notFound } from '@tidegate/serving';
import type { UserInfo } from '../../resources/types.ts';
import type { Authorizer } from '../authorization.ts';
import { MASTERS } from '../identity.ts';
import type { Rbac, RoleRef } from './rbac.ts';
import { describeRules, missingRules, type PolicyRule, quoteList } from './rules.ts';

const GROUP = 'rbac.authorization.k8s.io';
const FULL_AUTHORITY: PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

export interface RbacWrite {
  /** `roles`, `clusterroles`, `rolebindings` or `clusterrolebindings`. Other resources are not checked. */
  resource: string;
  user: UserInfo;
  /** The object to be stored. */
  object: KubeObject;
  /** The previous state, for updates. */
  old?: KubeObject;
}

/** Throws a 403 error for a role or binding that would grant more than the user has. */
export function checkEscalation(write: RbacWrite, rbac: Rbac, authorizer: Authorizer): void {
  if (write.user.groups.includes(MASTERS) || onlyGarbageCollectorFields(write)) return;
  if (write.resource === 'roles' || write.resource === 'clusterroles') checkRole(write, rbac, authorizer);
  else if (write.resource === 'rolebindings' || write.resource === 'clusterrolebindings') {
    checkBinding(write, rbac, authorizer);
  }
}

function checkRole({ resource, user, object, old }: RbacWrite, rbac: Rbac, authorizer: Authorizer): void {
  const { name = '', namespace = '' } = object.metadata;
  const mayEscalate = authorizer.authorize(user, {
    verb: 'escalate',
    group: GROUP,
    resource,
    subresource: '',
    namespace,
    // A create request has no name in its path.
    name: old === undefined ? '' : name,
  });
  if (mayEscalate.allowed) return;
  const refuse = (why: string): never => {
    throw forbidden({ group: GROUP, resource }, name, why);
  };
  const excess = excessOver(rbac, user, namespace, (object.rules ?? []) as PolicyRule[]);
  if (excess !== undefined) refuse(excess);
  const aggregates = hasAggregationRule(object) || (old !== undefined && hasAggregationRule(old));
  if (aggregates && excessOver(rbac, user, namespace, FULL_AUTHORITY) !== undefined) {
    refuse('must have cluster-admin privileges to use the aggregationRule');
  }
}

function checkBinding({ resource, user, object }: RbacWrite, rbac: Rbac, authorizer: Authorizer): void {
  const { name = '', namespace = '' } = object.metadata;
  const roleRef = object.roleRef as RoleRef;
  const mayBind = authorizer.authorize(user, {
    verb: 'bind',
    group: GROUP,
    resource: roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles',
    subresource: '',
    namespace,
    name: roleRef.name,
  });
  if (mayBind.allowed) return;
  const rules = rbac.roleRules(roleRef, namespace);
  // kube-apiserver names the resource of the binding here, although the role is missing.
  if (rules === undefined) throw notFound({ group: GROUP, resource }, roleRef.name);
  const excess = excessOver(rbac, user, namespace, rules);
  if (excess !== undefined) throw forbidden({ group: GROUP, resource }, name, excess);
}

function excessOver(rbac: Rbac, user: UserInfo, namespace: string, wanted: PolicyRule[]): string | undefined {
  const { rules, error } = rbac.rulesFor(user, namespace);
  const missing = missingRules(rules, wanted);
  if (missing.length === 0) return undefined;
  const subject = `user ${JSON.stringify(user.username)} (groups=${quoteList(user.groups)})`;
  const resolution = error === '' ? '' : `; resolution errors: [${error}]`;
  return `${subject} is attempting to grant RBAC permissions not currently held:\n${describeRules(missing)}${resolution}`;
}

const hasAggregationRule = (role: KubeObject): boolean => {
  const rule = role.aggregationRule as { clusterRoleSelectors?: unknown[] } | undefined;
  return (rule?.clusterRoleSelectors?.length ?? 0) > 0;
};

/** The garbage collector must be able to remove finalizers and owner references of roles whose permissions it lacks. */
function onlyGarbageCollectorFields({ object, old }: RbacWrite): boolean {
  if (old === undefined) return false;
  const { ownerReferences, finalizers, managedFields } = old.metadata;
  const rest = (o: KubeObject): unknown =>
    JSON.parse(
      JSON.stringify({ ...o, metadata: { ...o.metadata, ownerReferences, finalizers, managedFields } }),
    );
  return isDeepStrictEqual(rest(object), rest(old));
}
