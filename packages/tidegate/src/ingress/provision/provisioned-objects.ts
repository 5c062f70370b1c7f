import {
  Applier,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  type Controller,
  DEPLOYMENTS,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  type KubeObject,
  keyOf,
  POD_DISRUPTION_BUDGETS,
  type Resource,
  ROLE_BINDINGS,
  ROLES,
  SERVICE_ACCOUNTS,
  SERVICES,
} from '@tidegate/kube';
import { INGRESS_FIELD_MANAGER, type L7Router, ROUTER_LABEL } from '../../api/index.ts';
import type { IngressContext } from '../context.ts';
import { isAsWanted, withMadeFrom } from './as-wanted.ts';
import { NamespacedInformers } from './namespaced-informers.ts';
import { defaultImageOf, namespacesOf, type RouterPolicy } from './policy.ts';
import type { RouterPorts } from './router-program.ts';
import { objectsFor } from './workload.ts';

/** Kinds of the objects of routers, in the order in which they are deleted: the Deployment first. */
const RESOURCES: Readonly<Record<string, Resource>> = {
  Deployment: DEPLOYMENTS,
  Service: SERVICES,
  PodDisruptionBudget: POD_DISRUPTION_BUDGETS,
  ConfigMap: CONFIG_MAPS,
  RoleBinding: ROLE_BINDINGS,
  Role: ROLES,
  ClusterRoleBinding: CLUSTER_ROLE_BINDINGS,
  ClusterRole: CLUSTER_ROLES,
  ServiceAccount: SERVICE_ACCOUNTS,
};

/** The secret access controller creates these in the namespaces of Ingresses, and the others are cluster-scoped. */
const ANYWHERE = new Set(['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']);

/**
 * These are created once and never changed, so that the manager needs no permission to change or delete cluster roles of
 * others. The garbage collector deletes them with their router.
 */
const IMMUTABLE = new Set(['ClusterRole', 'ClusterRoleBinding']);

const ROUTER_INDEX = 'ingress/router';
const routerLabelOf = ({ metadata }: KubeObject): string[] => {
  const router = metadata.labels?.[ROUTER_LABEL];
  return router === undefined ? [] : [router];
};

/**
 * The objects that were provisioned for routers. They are found by the label ROUTER_LABEL, also after the manager
 * restarts.
 */
export class ProvisionedObjects {
  readonly #client: KubeClient;
  readonly #applier: Applier;
  readonly #informers: ReadonlyMap<string, NamespacedInformers>;

  readonly #resources: Readonly<Record<string, Resource>>;

  constructor({
    client,
    informers,
    routerPolicy = {},
    disruptionBudgets = POD_DISRUPTION_BUDGETS,
  }: Pick<IngressContext, 'client' | 'informers' | 'routerPolicy' | 'disruptionBudgets'>) {
    this.#resources = { ...RESOURCES, PodDisruptionBudget: disruptionBudgets };
    this.#client = client;
    this.#applier = new Applier(client, INGRESS_FIELD_MANAGER);
    this.#informers = new Map(
      Object.entries(this.#resources).map(([kind, resource]) => {
        const namespaces = ANYWHERE.has(kind) ? undefined : namespacesOf(routerPolicy);
        const informer = new NamespacedInformers(informers, resource, namespaces);
        informer.addIndex(ROUTER_INDEX, routerLabelOf);
        return [kind, informer];
      }),
    );
  }

  /** Enqueues the router whenever an object of one of these kinds changes. */
  watchedBy(controller: Controller, kinds: readonly string[], keysOf = routerLabelOf): void {
    for (const kind of kinds) this.#informer(kind).watchedBy(controller, keysOf);
  }

  get<T extends KubeObject>(kind: string, key: string): T | undefined {
    return this.#informer(kind).get(key) as T | undefined;
  }

  /**
   * Objects of one kind for a router. The label alone proves nothing: every user that may change an object could make the
   * manager delete it.
   */
  of(router: string, kind: string): KubeObject[] {
    return this.#informer(kind)
      .byIndex(ROUTER_INDEX, router)
      .filter(({ metadata }) =>
        metadata.ownerReferences?.some((owner) => owner.kind === 'L7Router' && owner.name === router),
      );
  }

  /** All objects for a router that the manager deletes itself, in the order in which they are deleted. */
  all(router: string): KubeObject[] {
    return [...this.#informers.keys()]
      .filter((kind) => !IMMUTABLE.has(kind))
      .flatMap((kind) => this.of(router, kind));
  }

  /** Applies the object, unless the cached object is up to date. */
  async apply(object: KubeObject, signal: AbortSignal): Promise<void> {
    const resource = this.#resources[object.kind]!;
    const wanted = withMadeFrom({ ...object, apiVersion: apiVersionOf(resource) });
    const cached = this.#informer(object.kind).get(keyOf(wanted));
    if (isAsWanted(cached, wanted)) return;
    if (!IMMUTABLE.has(object.kind)) await this.#applier.apply(wanted, { resource, signal });
    else if (cached === undefined) await this.#create(resource, wanted, signal);
    else
      throw new Error(
        `${object.kind} ${wanted.metadata.name} was changed by another client: delete it, then it is created again`,
      );
  }

  /** The cache may be behind: an object that exists was created by an earlier attempt. */
  async #create(resource: Resource, object: KubeObject, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.create(resource, object, { fieldManager: INGRESS_FIELD_MANAGER, signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** The uid precondition protects an object that was created again with the same name. */
  async remove({ kind, metadata }: KubeObject, signal: AbortSignal): Promise<void> {
    const { name = '', namespace, uid, deletionTimestamp } = metadata;
    if (deletionTimestamp !== undefined || IMMUTABLE.has(kind)) return;
    const options = { preconditions: { uid }, propagationPolicy: 'Background', signal } as const;
    try {
      await this.#client.delete(this.#resources[kind]!, { name, namespace }, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #informer(kind: string): NamespacedInformers {
    const informer = this.#informers.get(kind);
    if (informer === undefined) throw new Error(`kind ${kind} is not a kind of objects of routers`);
    return informer;
  }
}

const apiVersionOf = ({ group, version }: Resource): string =>
  group === '' ? version : `${group}/${version}`;

/** Whether the object matches the current spec of the router. */
export function isMadeFrom(
  object: KubeObject,
  router: L7Router,
  routerImage: string,
  policy?: RouterPolicy,
  ports?: RouterPorts,
): boolean {
  const wanted = objectsFor(router, defaultImageOf(router, routerImage, policy ?? {}), ports).find(
    (each) => each.kind === object.kind && keyOf(each) === keyOf(object),
  );
  return wanted !== undefined && isAsWanted(object, withMadeFrom(wanted));
}
