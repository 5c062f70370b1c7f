import {
  Applier,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  type Controller,
  DEPLOYMENTS,
  type Informer,
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
  readonly #informers: ReadonlyMap<string, Informer>;

  constructor({ client, informers }: Pick<IngressContext, 'client' | 'informers'>) {
    this.#client = client;
    this.#applier = new Applier(client, INGRESS_FIELD_MANAGER);
    this.#informers = new Map(
      Object.entries(RESOURCES).map(([kind, resource]) => {
        const informer = informers.for(resource, { labelSelector: ROUTER_LABEL });
        informer.addIndex(ROUTER_INDEX, routerLabelOf);
        return [kind, informer];
      }),
    );
  }

  /** Enqueues the router whenever an object of one of these kinds changes. */
  watchedBy(controller: Controller, kinds: readonly string[], keysOf = routerLabelOf): void {
    for (const kind of kinds) controller.watch(this.#informer(kind), keysOf);
  }

  get<T extends KubeObject>(kind: string, key: string): T | undefined {
    return this.#informer(kind).cache.get(key) as T | undefined;
  }

  /** Objects of one kind for a router. */
  of(router: string, kind: string): KubeObject[] {
    return this.#informer(kind).cache.byIndex(ROUTER_INDEX, router);
  }

  /** All objects for a router, in the order in which they are deleted. */
  all(router: string): KubeObject[] {
    return [...this.#informers.keys()].flatMap((kind) => this.of(router, kind));
  }

  /** Applies the object, unless the cached object is up to date. */
  async apply(object: KubeObject, signal: AbortSignal): Promise<void> {
    const wanted = withMadeFrom(object);
    const informer = this.#informer(object.kind);
    if (isAsWanted(informer.cache.get(keyOf(wanted)), wanted)) return;
    await this.#applier.apply(wanted, { resource: informer.resource, signal });
  }

  /** The uid precondition protects an object that was created again with the same name. */
  async remove({ kind, metadata }: KubeObject, signal: AbortSignal): Promise<void> {
    const { name = '', namespace, uid, deletionTimestamp } = metadata;
    if (deletionTimestamp !== undefined) return;
    const options = { preconditions: { uid }, propagationPolicy: 'Background', signal } as const;
    try {
      await this.#client.delete(this.#informer(kind).resource, { name, namespace }, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #informer(kind: string): Informer {
    const informer = this.#informers.get(kind);
    if (informer === undefined) throw new Error(`kind ${kind} is not a kind of objects of routers`);
    return informer;
  }
}

/** Whether the object matches the current spec of the router. */
export function isMadeFrom(object: KubeObject, router: L7Router, defaultImage: string): boolean {
  const wanted = objectsFor(router, defaultImage).find(
    (each) => each.kind === object.kind && keyOf(each) === keyOf(object),
  );
  return wanted !== undefined && isAsWanted(object, withMadeFrom(wanted));
}
