import { INGRESSES, type Informer, type Informers, type Ingress } from '@tidegate/kube';
import {
  type AttachedPolicy,
  CLUSTER_ROUTE_POLICIES,
  type L7Router,
  ROUTE_POLICIES,
} from '../../api/index.ts';
import {
  classScope,
  ingressKeysOf,
  ingressScope,
  namespaceScope,
  readAttachedPolicy,
  type Scope,
  scopeOf,
  secretsOfPolicy,
} from '../attached-policies/index.ts';
import { classesOf } from '../classes/index.ts';

const SCOPE_INDEX = 'ingress/policy-scope';
const NAMESPACE_INDEX = 'ingress/policy-secret-namespace';
const INGRESS_INDEX = 'ingress/by-namespace';
const KEY_INDEX = 'ingress/by-policy-key';

/** Which Secrets of RoutePolicies and ClusterRoutePolicies a router needs. */
export class PolicySecrets {
  readonly #policies: readonly Informer<AttachedPolicy>[];
  readonly #ingresses: Informer<Ingress>;

  constructor(informers: Informers) {
    this.#policies = [informers.for(ROUTE_POLICIES), informers.for(CLUSTER_ROUTE_POLICIES)];
    this.#ingresses = informers.for(INGRESSES);
    for (const informer of this.#policies) {
      informer.addIndex(SCOPE_INDEX, (policy) =>
        secretsOfPolicy(policy).length === 0 ? [] : scopesOf(policy),
      );
      informer.addIndex(NAMESPACE_INDEX, secretNamespacesOf);
    }
    this.#ingresses.addIndex(KEY_INDEX, ingressKeysOf);
    this.#ingresses.addIndex(INGRESS_INDEX, ({ metadata }) => [`${metadata.namespace}`]);
  }

  /** `changed` gets the namespaces of the Secrets that a changed policy names, or named before. */
  onChange(changed: (namespaces: readonly string[]) => void): void {
    for (const informer of this.#policies)
      informer.addHandler({
        onAdd: (policy) => changed(secretNamespacesOf(policy)),
        onUpdate: (old, policy) => {
          if (old.metadata.generation !== policy.metadata.generation)
            changed([...secretNamespacesOf(old), ...secretNamespacesOf(policy)]);
        },
        onDelete: (policy) => changed(secretNamespacesOf(policy)),
      });
  }

  /** The namespaces of the Secrets of policies that apply to the Ingress. Those of its class do not depend on it. */
  namespacesFor(ingress: Ingress): string[] {
    const own = ingressKeysOf(ingress).map(ingressScope);
    const scopes = [namespaceScope(`${ingress.metadata.namespace}`), ...own];
    return scopes.flatMap((scope) => this.#at(scope).flatMap(secretNamespacesOf));
  }

  /** The namespaces of the Secrets of all policies. */
  namespaces(): string[] {
    return this.#policies.flatMap((informer) => informer.cache.list().flatMap(secretNamespacesOf));
  }

  /** The names of Secrets in a namespace that a router needs. `isServed`: whether it may serve the Ingress. */
  secretsFor(router: L7Router, namespace: string, isServed: (ingress: Ingress) => boolean): string[] {
    const classScopes = new Set(classesOf(router).map(classScope));
    const applies = (scope: Scope): boolean => {
      const [kind, name = ''] = scope.split(' ');
      if (kind === 'class') return classScopes.has(scope);
      const index = kind === 'ingress' ? KEY_INDEX : INGRESS_INDEX;
      return this.#ingresses.cache.byIndex(index, name).some(isServed);
    };
    const prefix = `${namespace}/`;
    return this.#policies
      .flatMap((informer) => informer.cache.byIndex(NAMESPACE_INDEX, namespace))
      .filter((policy) => scopesOf(policy).some(applies))
      .flatMap(secretsOfPolicy)
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length));
  }

  #at(scope: Scope): AttachedPolicy[] {
    return this.#policies.flatMap((informer) => informer.cache.byIndex(SCOPE_INDEX, scope));
  }
}

const secretNamespacesOf = (policy: AttachedPolicy): string[] => [
  ...new Set(secretsOfPolicy(policy).map((key) => key.slice(0, key.indexOf('/')))),
];

function scopesOf(policy: AttachedPolicy): Scope[] {
  const read = readAttachedPolicy(policy);
  return read.targets.flatMap((target) => scopeOf(read, target) ?? []);
}
