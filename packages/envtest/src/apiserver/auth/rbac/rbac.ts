/**
 * Role-based access control. An index of roles and bindings by subject follows the store, so the cost of a decision
 * depends only on the bindings of the user and its groups.
 */
import type { KubeObject } from '@tidegate/kube';
import type { UserInfo } from '../../resources/types.ts';
import type { Change, Entry, Store } from '../../store/types.ts';
import { type Attributes, type Authorizer, type Decision, isPath } from '../authorization.ts';
import { serviceAccountUsername } from '../identity.ts';
import { type PolicyRule, ruleAllows } from './rules.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** Storage names of the resources. */
const RESOURCES = {
  roles: `${GROUP}/roles`,
  clusterRoles: `${GROUP}/clusterroles`,
  roleBindings: `${GROUP}/rolebindings`,
  clusterRoleBindings: `${GROUP}/clusterrolebindings`,
} as const;

export interface RoleRef {
  apiGroup?: string;
  kind: string;
  name: string;
}

interface Subject {
  kind: string;
  name: string;
  namespace?: string;
}

/** A subject of a binding. */
interface Grant {
  roleRef: RoleRef;
  /** '' for a ClusterRoleBinding. */
  namespace: string;
  /** `RoleBinding "x/ns" of Role "y" to User "z"` */
  source: string;
}

/**
 * Keeps all roles and bindings in memory and follows the store. A decision looks only at the bindings of the user and
 * its groups, so its cost does not depend on the number of bindings in the cluster.
 */
export class Rbac implements Authorizer {
  /** Rules by `namespace/name`. The namespace of a ClusterRole is ''. */
  readonly #rules = new Map<string, PolicyRule[]>();
  /** Grants by namespace and subject, then by binding. */
  readonly #grants = new Map<string, Map<string, Grant>>();
  /** The keys of each binding in `#grants`, to remove them when the binding changes. */
  readonly #placed = new Map<string, string[]>();
  readonly #stop: () => void;

  constructor(store: Store) {
    for (const resource of Object.values(RESOURCES)) {
      for (const entry of store.list(resource).entries) this.#put(resource, entry);
    }
    this.#stop = store.watchAll((changes) => {
      for (const change of changes) this.#follow(change);
    });
  }

  close(): void {
    this.#stop();
  }

  authorize(user: UserInfo, attributes: Attributes): Decision {
    const errors = new Set<string>();
    for (const grant of this.#grantsOf(user, isPath(attributes) ? '' : attributes.namespace)) {
      const rules = this.roleRules(grant.roleRef, grant.namespace);
      if (rules === undefined) errors.add(missingRole(grant.roleRef));
      else if (rules.some((rule) => ruleAllows(rule, attributes))) {
        return { allowed: true, reason: `RBAC: allowed by ${grant.source}` };
      }
    }
    return { allowed: false, reason: errors.size === 0 ? '' : `RBAC: ${aggregate([...errors])}` };
  }

  /** All rules of a user in a namespace or at the cluster scope, and the errors of roles that do not exist. */
  rulesFor(user: UserInfo, namespace: string): { rules: PolicyRule[]; error: string } {
    const rules: PolicyRule[] = [];
    const errors = new Set<string>();
    for (const grant of this.#grantsOf(user, namespace)) {
      const found = this.roleRules(grant.roleRef, grant.namespace);
      if (found === undefined) errors.add(missingRole(grant.roleRef));
      else rules.push(...found);
    }
    return { rules, error: aggregate([...errors]) };
  }

  /** The rules that a binding in this namespace grants; undefined if the role does not exist. */
  roleRules(ref: RoleRef, namespace: string): PolicyRule[] | undefined {
    return this.#rules.get(ref.kind === 'ClusterRole' ? `/${ref.name}` : `${namespace}/${ref.name}`);
  }

  *#grantsOf(user: UserInfo, namespace: string): Generator<Grant> {
    for (const where of namespace === '' ? [''] : ['', namespace]) {
      yield* this.#grants.get(holder(where, 'User', user.username))?.values() ?? [];
      for (const group of user.groups) yield* this.#grants.get(holder(where, 'Group', group))?.values() ?? [];
    }
  }

  #follow({ type, resource, entry }: Change): void {
    if (!resource.startsWith(GROUP)) return;
    if (type === 'put') this.#put(resource, entry);
    else this.#remove(resource, entry);
  }

  #put(resource: string, entry: Entry): void {
    const key = `${entry.namespace}/${entry.name}`;
    const object = JSON.parse(entry.value.toString()) as KubeObject;
    if (resource === RESOURCES.roles || resource === RESOURCES.clusterRoles) {
      this.#rules.set(key, (object.rules ?? []) as PolicyRule[]);
      return;
    }
    if (resource !== RESOURCES.roleBindings && resource !== RESOURCES.clusterRoleBindings) return;
    this.#unplace(key);
    const holders: string[] = [];
    for (const subject of (object.subjects ?? []) as Subject[]) {
      const where = holderOf(subject, entry.namespace);
      if (where === undefined) continue;
      const grants = this.#grants.get(where) ?? new Map<string, Grant>();
      this.#grants.set(where, grants);
      // If several subjects of a binding match, the first one is reported.
      if (!grants.has(key)) grants.set(key, grantOf(object, subject, entry));
      holders.push(where);
    }
    this.#placed.set(key, holders);
  }

  #remove(resource: string, entry: Entry): void {
    const key = `${entry.namespace}/${entry.name}`;
    if (resource === RESOURCES.roles || resource === RESOURCES.clusterRoles) this.#rules.delete(key);
    else if (resource === RESOURCES.roleBindings || resource === RESOURCES.clusterRoleBindings)
      this.#unplace(key);
  }

  #unplace(binding: string): void {
    for (const where of this.#placed.get(binding) ?? []) {
      const grants = this.#grants.get(where);
      grants?.delete(binding);
      if (grants?.size === 0) this.#grants.delete(where);
    }
    this.#placed.delete(binding);
  }
}

const holder = (namespace: string, kind: 'User' | 'Group', name: string): string =>
  `${namespace}\n${kind}\n${name}`;

/** A service account is a user with the name `system:serviceaccount:<namespace>:<name>`. */
function holderOf(subject: Subject, namespace: string): string | undefined {
  switch (subject.kind) {
    case 'User':
    case 'Group':
      return holder(namespace, subject.kind, subject.name);
    case 'ServiceAccount': {
      const home = subject.namespace || namespace;
      return home === '' ? undefined : holder(namespace, 'User', serviceAccountUsername(home, subject.name));
    }
    default:
      return undefined;
  }
}

function grantOf(binding: KubeObject, subject: Subject, { namespace, name }: Entry): Grant {
  const roleRef = binding.roleRef as RoleRef;
  const quote = JSON.stringify;
  const what =
    namespace === '' ? `ClusterRoleBinding ${quote(name)}` : `RoleBinding ${quote(`${name}/${namespace}`)}`;
  const holder =
    subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  return {
    roleRef,
    namespace,
    source: `${what} of ${roleRef.kind} ${quote(roleRef.name)} to ${subject.kind} ${quote(holder)}`,
  };
}

/** kube-apiserver names the kind in the singular and in lower case here. */
const missingRole = ({ kind, name }: RoleRef): string =>
  `${kind.toLowerCase()}.${GROUP} ${JSON.stringify(name)} not found`;

const aggregate = (messages: string[]): string =>
  messages.length <= 1 ? (messages[0] ?? '') : `[${messages.join(', ')}]`;
