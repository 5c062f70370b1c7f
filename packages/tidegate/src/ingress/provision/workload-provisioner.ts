import { isDeepStrictEqual } from 'node:util';
import { type Deployment, type KubeObject, keyOf, NODES, type Service } from '@tidegate/kube';
import { INGRESS_NGINX_CONTROLLER_PREFIX, type L7Router } from '../../api/index.ts';
import type { IngressContext } from '../context.ts';
import {
  BUILT_IN,
  type Ensured,
  type Provisioner,
  type ProvisionerProfile,
  RefusedError,
  type Removed,
} from '../provisioners/index.ts';
import { addressesOf } from './addresses.ts';
import type { FreeNodes } from './free-nodes.ts';
import { isOfSharedPods, podsNameOf, selectorOf, workloadName, workloadOf } from './identity.ts';
import { sharedPodsRefusal } from './pod-members.ts';
import { defaultImageOf, refusalOf } from './policy.ts';
import type { ProvisionedObjects } from './provisioned-objects.ts';
import { isReady, type RouterPods } from './router-pods.ts';
import { objectsFor } from './workload.ts';

/** Kinds that a change of the spec can make superfluous. */
const KINDS = ['ServiceAccount', 'ConfigMap', 'RoleBinding', 'Service', 'Deployment', 'PodDisruptionBudget'];

/** Kinds whose changes concern `ensure`. */
export const WORKLOAD_KINDS: readonly string[] = [...KINDS, 'Role', 'ClusterRole', 'ClusterRoleBinding'];

/** How often a router that changes to other pods is looked at. */
const MOVING_MS = 1_000;

/** Routers that run ingress-nginx. No class selects it by its controller: only L7Routers do, by their driver. */
const INGRESS_NGINX: ProvisionerProfile = {
  ...BUILT_IN[0]!,
  controller: `${INGRESS_NGINX_CONTROLLER_PREFIX}*`,
  aliases: [],
  driver: 'ingress-nginx',
};

/** The provisioners that run routers as Deployments: one for each program. */
export const workloadProvisioners = (
  context: IngressContext,
  provisioned: ProvisionedObjects,
  pods: RouterPods,
  freeNodes: FreeNodes,
): Provisioner[] =>
  [...BUILT_IN, INGRESS_NGINX].map((profile) => ({
    ...profile,
    ...workloadProvisioner(context, provisioned, pods, freeNodes),
  }));

/**
 * Creates the objects of a router, corrects drift, and deletes them. An agent in the pods programs the routes and reports the
 * generation in the status of the L7Router.
 */
function workloadProvisioner(
  { informers, routerImage, routerPolicy = {}, routerPorts }: IngressContext,
  provisioned: ProvisionedObjects,
  pods: RouterPods,
  freeNodes: FreeNodes,
): Pick<Provisioner, 'ensure' | 'remove' | 'forget'> {
  const nodes = informers.for(NODES);

  async function ensure(router: L7Router, _: unknown, signal: AbortSignal): Promise<Ensured> {
    const members = provisioned.members.of(router);
    const refusal = refusalOf(router, routerImage, routerPolicy) ?? sharedPodsRefusal(router, members);
    // What was provisioned from an earlier spec keeps running.
    if (refusal !== undefined) throw new RefusedError(refusal);
    const image = defaultImageOf(router, routerImage, routerPolicy);
    const wanted = objectsFor(router, image, routerPorts, freeNodes.outsidePools, members);
    const moves = isMoving(router);
    const keeper = provisioned.members.keeperOf(router) ?? router;
    const isKeeper = keeper.metadata.name === router.metadata.name;
    for (const object of wanted) {
      // The Service leads to the old pods until the new ones serve the router.
      if (moves && object.kind === 'Service') continue;
      if (isKeeper || !isOfSharedPods(object)) await provisioned.apply(object, signal);
    }
    if (moves) return { ...reached(router), againAfterMs: MOVING_MS };
    await removeOthers(router, wanted, signal);
    return reached(router);
  }

  /** Objects of a previous spec. Those in another namespace serve until the new Deployment does: its status triggers the next attempt. */
  async function removeOthers(router: L7Router, wanted: KubeObject[], signal: AbortSignal): Promise<void> {
    const isWanted = new Set(wanted.map((object) => `${object.kind} ${keyOf(object)}`));
    const { namespace } = workloadOf(router);
    const serves = isServing(provisioned.get('Deployment', `${namespace}/${podsNameOf(router)}`));
    for (const kind of KINDS) {
      for (const object of provisioned.of(`${router.metadata.name}`, kind)) {
        if (isWanted.has(`${kind} ${keyOf(object)}`) || isSecretAccess(object, router)) continue;
        if (object.metadata.namespace !== namespace && (!serves || !isOwnedBy(object, router))) continue;
        await provisioned.remove(object, signal);
      }
    }
    for (const object of provisioned.ofLeftPods(router)) await provisioned.remove(object, signal);
  }

  /** The router changes to other pods, which do not serve its current generation yet. */
  function isMoving(router: L7Router): boolean {
    const service = serviceOf(router);
    if (service === undefined || isDeepStrictEqual(service.spec?.selector, selectorOf(router))) return false;
    const { generation = 0 } = router.metadata;
    const served = new Map(router.status?.agents?.map((agent) => [agent.name, agent.appliedGeneration]));
    const ready = pods.of(router).filter(isReady);
    return (
      ready.length === 0 || ready.some(({ metadata }) => (served.get(`${metadata.name}`) ?? 0) < generation)
    );
  }

  const serviceOf = (router: L7Router): Service | undefined =>
    provisioned.get('Service', `${workloadOf(router).namespace}/${workloadName(`${router.metadata.name}`)}`);

  function reached(router: L7Router): Ensured {
    const ready = pods.of(router).filter(isReady);
    const on = ready.flatMap(({ spec }) => nodes.cache.get(spec?.nodeName ?? '') ?? []);
    return { addresses: addressesOf(serviceOf(router), on), ready: ready.length > 0 };
  }

  /** It is gone when the caches show that all objects are gone. Pods that it shares stay as long as another router needs them. */
  async function remove(router: L7Router, _: unknown, signal: AbortSignal): Promise<Removed> {
    const members = provisioned.members.of(router);
    const left = [
      ...provisioned.all(`${router.metadata.name}`),
      ...(members.length > 1 ? [] : provisioned.ofPods(members)),
    ];
    for (const object of left) await provisioned.remove(object, signal);
    return { gone: left.length === 0 };
  }

  async function forget(router: string, signal: AbortSignal): Promise<void> {
    for (const object of provisioned.all(router)) await provisioned.remove(object, signal);
  }

  return { ensure, remove, forget };
}

/** Whether all pods of the current spec are ready. */
function isServing(deployment: Deployment | undefined): boolean {
  const { observedGeneration = 0, readyReplicas = 0, updatedReplicas = 0 } = deployment?.status ?? {};
  if (deployment === undefined || observedGeneration < (deployment.metadata.generation ?? 0)) return false;
  const replicas = deployment.spec?.replicas ?? 1;
  return readyReplicas >= replicas && updatedReplicas >= replicas;
}

const isOwnedBy = ({ metadata }: KubeObject, router: L7Router): boolean =>
  (metadata.ownerReferences ?? []).some(({ uid }) => uid === router.metadata.uid);

/** The secret access controller manages these objects. */
const isSecretAccess = ({ kind, metadata }: KubeObject, router: L7Router): boolean =>
  kind === 'RoleBinding' && metadata.name === workloadName(`${router.metadata.name}`);
