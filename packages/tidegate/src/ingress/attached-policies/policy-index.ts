import { createHash } from 'node:crypto';
import { type Ingress, keyOf, SetsByKey } from '@tidegate/kube';
import { type AttachedPolicy, MIGRATION_COPY_OF_ANNOTATION, type PolicyTarget } from '../../api/index.ts';
import { isSamePolicy, type ReadPolicy, readAttachedPolicy } from './read.ts';

/** The two kinds of policies, as inputs of the compiler. */
export type AttachedKind = 'RoutePolicy' | 'ClusterRoutePolicy';

/** A policy at one of its targets. */
export interface PolicyAt {
  readonly policy: ReadPolicy;
  /** For example `Namespace shop`. */
  readonly target: string;
}

/** A target in the whole cluster: `class NAME`, `namespace NAME` or `ingress NAMESPACE/NAME`. */
export type Scope = string;

export const classScope = (name: string): Scope => `class ${name}`;
export const namespaceScope = (name: string): Scope => `namespace ${name}`;
export const ingressScope = (key: string): Scope => `ingress ${key}`;

/** The keys with which policies name the Ingress: its own, and that of the Ingress that it is a copy of. */
export function ingressKeysOf(ingress: Ingress): string[] {
  const { namespace, annotations = {} } = ingress.metadata;
  const original = annotations[MIGRATION_COPY_OF_ANNOTATION];
  return original === undefined ? [keyOf(ingress)] : [`${namespace}/${original}`, keyOf(ingress)];
}

/**
 * The policies by what they apply to. An Ingress finds its policies with four lookups, and a policy its targets without looking
 * at other policies.
 */
export class PolicyIndex {
  /** By kind and key. */
  readonly #policies = new Map<string, ReadPolicy>();
  readonly #byScope = new SetsByKey();
  /** By kind and key: a number for the version of the policy. */
  readonly #versions = new Map<string, bigint>();
  #digest = 0n;

  /** Returns the scopes whose policies have changed. */
  put(kind: AttachedKind, object: AttachedPolicy): Scope[] {
    const id = idOf(kind, keyOf(object));
    this.#setVersion(id, versionOf(id, object));
    return this.#replace(id, readAttachedPolicy({ ...object, kind }));
  }

  remove(kind: AttachedKind, key: string): Scope[] {
    this.#setVersion(idOf(kind, key), undefined);
    return this.#replace(idOf(kind, key), undefined);
  }

  get(kind: AttachedKind, key: string): ReadPolicy | undefined {
    return this.#policies.get(idOf(kind, key));
  }

  /**
   * Identifies all policies with their generations, whatever the order in which they were put. Routers report it, and the manager
   * compares it with its own. Empty: there are none.
   */
  get digest(): string {
    return this.#digest === 0n ? '' : this.#digest.toString(16);
  }

  /**
   * The policies of an Ingress, the outermost first: those of its class, then the ClusterRoutePolicies of its namespace, then the
   * RoutePolicies of its namespace, then those of the Ingress itself. Of several at one level, the youngest is first, so that
   * the oldest wins.
   */
  policiesOf(
    classNames: readonly string[],
    ingress: { namespace: string; keys: readonly string[] },
  ): PolicyAt[] {
    if (this.#policies.size === 0) return [];
    const inNamespace = this.at(namespaceScope(ingress.namespace));
    return [
      ...[...new Set(classNames)].flatMap((name) => this.at(classScope(name))),
      ...inNamespace.filter(({ policy }) => policy.namespace === undefined),
      ...inNamespace.filter(({ policy }) => policy.namespace !== undefined),
      ...ingress.keys.flatMap((key) => this.at(ingressScope(key))),
    ];
  }

  /** The policies of a target. Of several, the youngest is first. */
  at(scope: Scope): PolicyAt[] {
    const policies = [...this.#byScope.get(scope)].map((id) => this.#policies.get(id)!);
    const target = targetText(scope);
    return policies
      .sort((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1))
      .map((policy) => ({ policy, target }));
  }

  #setVersion(id: string, version: bigint | undefined): void {
    // Exclusive or: the cost does not depend on the number of policies.
    this.#digest ^= (this.#versions.get(id) ?? 0n) ^ (version ?? 0n);
    if (version === undefined) this.#versions.delete(id);
    else this.#versions.set(id, version);
  }

  #replace(id: string, policy: ReadPolicy | undefined): Scope[] {
    const before = this.#policies.get(id);
    if (policy !== undefined && isSamePolicy(before, policy)) return [];
    const [were, are] = [scopesOf(before), scopesOf(policy)];
    for (const scope of were) this.#byScope.delete(scope, id);
    if (policy === undefined) this.#policies.delete(id);
    else this.#policies.set(id, policy);
    for (const scope of are) this.#byScope.add(scope, id);
    return [...new Set([...were, ...are])];
  }
}

function versionOf(id: string, { metadata: { uid = '', generation = 0 } }: AttachedPolicy): bigint {
  const hash = createHash('sha256').update(`${id} ${uid} ${generation}`).digest('hex');
  return BigInt(`0x${hash.slice(0, 32)}`);
}

const idOf = (kind: AttachedKind, key: string): string => `${kind} ${key}`;

const targetText = (scope: Scope): string => {
  const [kind, name] = scope.split(' ');
  return `${{ class: 'IngressClass', namespace: 'Namespace', ingress: 'Ingress' }[`${kind}`]} ${name}`;
};

const scopesOf = (policy: ReadPolicy | undefined): Scope[] =>
  policy === undefined ? [] : policy.targets.flatMap((target) => scopeOf(policy, target) ?? []);

/** Undefined if a policy of this kind cannot have the target: its schema does not allow it. */
export function scopeOf(
  { namespace }: Pick<ReadPolicy, 'namespace'>,
  { kind, name }: PolicyTarget,
): Scope | undefined {
  if (namespace === undefined) {
    if (name === undefined || kind === 'Ingress') return undefined;
    return kind === 'IngressClass' ? classScope(name) : namespaceScope(name);
  }
  if (kind === 'Namespace') return namespaceScope(namespace);
  return kind === 'Ingress' && name !== undefined ? ingressScope(`${namespace}/${name}`) : undefined;
}
