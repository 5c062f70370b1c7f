import {
  addFinalizer,
  Controller,
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
import { workloadName } from './identity.ts';
import type { Made } from './made.ts';
import { objectsFor } from './workload.ts';

/** Until the cache has what we collided with. */
const CONFLICT_RETRY_MS = 200;
const KINDS = [
  'ServiceAccount',
  'ConfigMap',
  'ClusterRole',
  'ClusterRoleBinding',
  'RoleBinding',
  'Service',
  'Deployment',
  'PodDisruptionBudget',
];

/** Is told whether a router could be made: `problem` is what the API server said against it. */
export type ProvisionListener = (router: string, problem: string | undefined) => void;

/** Makes the workload of each L7Router, keeps it as it was made, and lets the router go when nothing is left of it. */
export function provisionController(
  context: IngressContext,
  made: Made,
  tell: ProvisionListener,
): Controller {
  const { client, informers, routerImage } = context;
  const routers = informers.for(L7_ROUTERS);

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const router = routers.cache.get(name);
    if (router === undefined) return removeAll(name, signal);
    if (!isWorkloadDriver(router.spec.driver)) return;
    try {
      if (!isBeingDeleted(router)) await make(router, signal);
      else if (hasFinalizer(router, ROUTER_FINALIZER)) await finalize(router, signal);
      tell(name, undefined);
    } catch (error) {
      if (isConflict(error)) return { requeueAfter: CONFLICT_RETRY_MS };
      tell(name, (error as Error).message);
      throw error;
    }
  }

  async function make(cached: L7Router, signal: AbortSignal): Promise<void> {
    const router = await addFinalizer(client, L7_ROUTERS, cached, ROUTER_FINALIZER, { signal });
    const wanted = objectsFor(router, routerImage);
    for (const object of wanted) await made.make(object, signal);
    const isWanted = new Set(wanted.map((object) => `${object.kind} ${keyOf(object)}`));
    // What it was made of before, such as in another namespace.
    for (const kind of KINDS) {
      for (const object of made.of(`${router.metadata.name}`, kind)) {
        if (isWanted.has(`${kind} ${keyOf(object)}`) || isSecretAccess(object, router)) continue;
        await made.remove(object, signal);
      }
    }
  }

  /** What is deleted is seen to be gone before the router may go. */
  async function finalize(router: L7Router, signal: AbortSignal): Promise<void> {
    const name = `${router.metadata.name}`;
    const left = made.all(name);
    for (const object of left) await made.remove(object, signal);
    if (left.length > 0) return;
    try {
      await removeFinalizer(client, L7_ROUTERS, router, ROUTER_FINALIZER, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Somebody may have taken the finalizer away. */
  async function removeAll(name: string, signal: AbortSignal): Promise<undefined> {
    for (const object of made.all(name)) await made.remove(object, signal);
  }

  const controller = new Controller({
    ...context,
    name: 'ingress-provision',
    reconcile,
    concurrency: 4,
  }).watch(routers);
  made.watchedBy(controller, [...KINDS, 'Role']);
  return controller;
}

/** Those come and go by themselves. */
const isSecretAccess = ({ kind, metadata }: KubeObject, router: L7Router): boolean =>
  kind === 'RoleBinding' && metadata.name === workloadName(`${router.metadata.name}`);
