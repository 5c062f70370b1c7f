import { isDeepStrictEqual } from 'node:util';
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
  type Service,
} from '@tidegate/kube';
import { INGRESS_FIELD_MANAGER, L7_ROUTERS, type L7Router, ROUTER_LABEL } from '../../api/index.ts';
import type { IngressContext } from '../context.ts';
import { hasOwners, isAsWanted, withMadeFrom } from './as-wanted.ts';
import { isOfSharedPods, isSharedPodsKey, podsKeyOf, sharedPodsKey, sharedPodsOf } from './identity.ts';
import { ledSections, selectedPodsOf } from './led-sections.ts';
import { NamespacedInformers } from './namespaced-informers.ts';
import { PodMembers } from './pod-members.ts';
import { defaultImageOf, namespacesOf } from './policy.ts';
import type { OutsidePools } from './scheduling.ts';
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

/** UIDs of the routers that share the object. */
const SHARING_INDEX = 'ingress/sharing-routers';
const sharingRoutersOf = (object: KubeObject): string[] =>
  routerLabelOf(object).some(isSharedPodsKey)
    ? (object.metadata.ownerReferences ?? []).map(({ uid }) => uid)
    : [];

/** Services by the pods that they lead to. */
const SELECTED_INDEX = 'ingress/selected-pods';

/**
 * The objects that were provisioned for routers. They are found by the label ROUTER_LABEL, also after the manager
 * restarts.
 */
export class ProvisionedObjects {
  readonly #client: KubeClient;
  readonly #applier: Applier;
  readonly #informers: ReadonlyMap<string, NamespacedInformers>;

  readonly #resources: Readonly<Record<string, Resource>>;
  readonly members: PodMembers;

  constructor({
    client,
    informers,
    routerPolicy = {},
    disruptionBudgets = POD_DISRUPTION_BUDGETS,
  }: Pick<IngressContext, 'client' | 'informers' | 'routerPolicy' | 'disruptionBudgets'>) {
    this.#resources = { ...RESOURCES, PodDisruptionBudget: disruptionBudgets };
    this.members = new PodMembers(informers.for(L7_ROUTERS));
    this.#client = client;
    this.#applier = new Applier(client, INGRESS_FIELD_MANAGER);
    this.#informers = new Map(
      Object.entries(this.#resources).map(([kind, resource]) => {
        const namespaces = ANYWHERE.has(kind) ? undefined : namespacesOf(routerPolicy);
        const informer = new NamespacedInformers(informers, resource, namespaces);
        informer.addIndex(ROUTER_INDEX, routerLabelOf);
        informer.addIndex(SHARING_INDEX, sharingRoutersOf);
        return [kind, informer];
      }),
    );
    this.#informer('Service').addIndex(SELECTED_INDEX, selectedPodsOf);
  }

  /** Enqueues the routers of an object whenever an object of one of these kinds changes. */
  watchedBy(
    controller: Controller,
    kinds: readonly string[],
    keysOf = (object: KubeObject): string[] =>
      routerLabelOf(object).flatMap((key) => this.members.named(key)),
  ): void {
    for (const kind of kinds) this.#informer(kind).watchedBy(controller, keysOf, concernsMembers);
  }

  /** Enqueues the router that looks after shared pods whenever one of their objects changes in any way. */
  keptBy(controller: Controller, kinds: readonly string[]): void {
    const keepersOf = (object: KubeObject): string[] =>
      isOfSharedPods(object) ? routerLabelOf(object).flatMap((key) => this.members.keepersNamed(key)) : [];
    for (const kind of kinds) this.#informer(kind).watchedBy(controller, keepersOf);
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

  /** Objects of the pods that these routers share, in the order in which they are deleted. */
  ofPods(members: readonly L7Router[]): KubeObject[] {
    const [first] = members;
    if (first === undefined || sharedPodsOf(first) === undefined) return [];
    const uids = new Set(members.map(({ metadata }) => metadata.uid));
    return [...this.#informers.keys()].flatMap((kind) =>
      this.#informer(kind)
        .byIndex(ROUTER_INDEX, podsKeyOf(first))
        .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uids.has(uid))),
    );
  }

  /** Objects of shared pods that the router has left, if no other router needs them. */
  ofLeftPods(router: L7Router): KubeObject[] {
    const left = (object: KubeObject): boolean =>
      routerLabelOf(object).every((key) => key !== podsKeyOf(router) && !this.members.areShared(key));
    return [...this.#informers.keys()].flatMap((kind) =>
      this.#informer(kind).byIndex(SHARING_INDEX, `${router.metadata.uid}`).filter(left),
    );
  }

  /** The sections of shared pods that Services lead to now, with the names of their routers. */
  sectionsLedTo(sharedPods: string): ReadonlyMap<number, string> {
    return ledSections(
      this.#informer('Service').byIndex(SELECTED_INDEX, sharedPodsKey(sharedPods)) as Service[],
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
    if (isAsWanted(cached, wanted) && (!isOfSharedPods(wanted) || hasOwners(cached, wanted))) return;
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

  /** Whether the object matches the current spec of the router. Routers that join or leave its pods do not change that. */
  isMadeFrom(
    object: KubeObject,
    router: L7Router,
    {
      routerImage,
      routerPolicy = {},
      routerPorts,
    }: Pick<IngressContext, 'routerImage' | 'routerPolicy' | 'routerPorts'>,
    outsidePools: OutsidePools,
  ): boolean {
    const image = defaultImageOf(router, routerImage, routerPolicy);
    const members = this.members.of(router);
    const wanted = objectsFor(router, image, routerPorts, outsidePools, members).find(
      (each) => each.kind === object.kind && keyOf(each) === keyOf(object),
    );
    if (wanted === undefined) return false;
    const { ownerReferences: _, ...metadata } = wanted.metadata;
    return isAsWanted(object, withMadeFrom({ ...wanted, metadata }));
  }

  #informer(kind: string): NamespacedInformers {
    const informer = this.#informers.get(kind);
    if (informer === undefined) throw new Error(`kind ${kind} is not a kind of objects of routers`);
    return informer;
  }
}

/** Every router that joins or leaves shared pods changes their owners, which concerns only their keeper. */
const concernsMembers = (old: KubeObject, object: KubeObject): boolean =>
  !isOfSharedPods(object) || !isDeepStrictEqual(withoutOwners(old), withoutOwners(object));

const withoutOwners = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    ownerReferences: undefined,
    resourceVersion: undefined,
    managedFields: undefined,
  },
});

const apiVersionOf = ({ group, version }: Resource): string =>
  group === '' ? version : `${group}/${version}`;
