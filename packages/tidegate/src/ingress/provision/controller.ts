import {
  addFinalizer,
  Controller,
  type Deployment,
  hasFinalizer,
  isBeingDeleted,
  isConflict,
  isNotFound,
  type KubeObject,
  keyOf,
  type ReconcileResult,
  removeFinalizer,
} from '@tidegate/kube';
import { L7_ROUTERS, type L7Router, ROUTER_FINALIZER } from '../../api/index.ts';
import { isWorkloadDriver } from '../classes/index.ts';
import type { IngressContext } from '../context.ts';
import { identityOf, workloadName } from './identity.ts';
import { defaultImageOf, refusalOf } from './policy.ts';
import type { ProvisionedObjects } from './provisioned-objects.ts';
import { objectsFor } from './workload.ts';

/** Delay after a conflict, so that the cache can receive the conflicting change. */
const CONFLICT_RETRY_MS = 200;
/** The policy of the administrator does not allow the router. */
class RefusedError extends Error {}

const KINDS = ['ServiceAccount', 'ConfigMap', 'RoleBinding', 'Service', 'Deployment', 'PodDisruptionBudget'];

/**
 * Called after each attempt to provision a router. `problem` is the error message of the API server, if there was
 * one.
 */
export type ProvisionListener = (router: string, problem: string | undefined) => void;

/**
 * Provisions the objects of each L7Router and corrects drift. When the router is deleted, it deletes the objects, and
 * removes the finalizer when they are gone.
 */
export function provisionController(
  context: IngressContext,
  provisioned: ProvisionedObjects,
  report: ProvisionListener,
): Controller {
  const { client, informers, routerImage, routerPolicy = {}, routerPorts } = context;
  const routers = informers.for(L7_ROUTERS);

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const router = routers.cache.get(name);
    if (router === undefined) return removeAll(name, signal);
    if (!isWorkloadDriver(router.spec.driver)) return;
    try {
      if (!isBeingDeleted(router)) await provision(router, signal);
      else if (hasFinalizer(router, ROUTER_FINALIZER)) await finalize(router, signal);
      report(name, undefined);
    } catch (error) {
      if (isConflict(error)) return { requeueAfter: CONFLICT_RETRY_MS };
      report(name, (error as Error).message);
      // A change of the router, or of the flags of the manager, is needed. Another attempt is not.
      if (error instanceof RefusedError) return undefined;
      throw error;
    }
  }

  async function provision(cached: L7Router, signal: AbortSignal): Promise<void> {
    const refusal = refusalOf(cached, routerImage, routerPolicy);
    // What was provisioned from an earlier spec keeps running.
    if (refusal !== undefined) throw new RefusedError(refusal);
    const router = await addFinalizer(client, L7_ROUTERS, cached, ROUTER_FINALIZER, { signal });
    const image = defaultImageOf(router, routerImage, routerPolicy);
    const wanted = objectsFor(router, image, routerPorts);
    for (const object of wanted) await provisioned.apply(object, signal);
    // Objects of a previous spec. Those in another namespace serve until the new Deployment does: its status triggers the
    // next attempt.
    const isWanted = new Set(wanted.map((object) => `${object.kind} ${keyOf(object)}`));
    const { namespace } = identityOf(router);
    const serves = isServing(
      provisioned.get('Deployment', `${namespace}/${workloadName(cached.metadata.name!)}`),
    );
    for (const kind of KINDS) {
      for (const object of provisioned.of(`${router.metadata.name}`, kind)) {
        if (isWanted.has(`${kind} ${keyOf(object)}`) || isSecretAccess(object, router)) continue;
        if (object.metadata.namespace !== namespace && (!serves || !isOwnedBy(object, router))) continue;
        await provisioned.remove(object, signal);
      }
    }
  }

  /** The finalizer stays until the caches show that all objects are gone. */
  async function finalize(router: L7Router, signal: AbortSignal): Promise<void> {
    const name = `${router.metadata.name}`;
    const left = provisioned.all(name);
    for (const object of left) await provisioned.remove(object, signal);
    if (left.length > 0) return;
    try {
      await removeFinalizer(client, L7_ROUTERS, router, ROUTER_FINALIZER, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** For a router that disappeared without cleanup, for example because a user removed the finalizer. */
  async function removeAll(name: string, signal: AbortSignal): Promise<undefined> {
    for (const object of provisioned.all(name)) await provisioned.remove(object, signal);
  }

  const controller = new Controller({
    ...context,
    name: 'ingress-provision',
    reconcile,
    concurrency: 4,
  }).watch(routers);
  provisioned.watchedBy(controller, [...KINDS, 'Role', 'ClusterRole', 'ClusterRoleBinding']);
  return controller;
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
