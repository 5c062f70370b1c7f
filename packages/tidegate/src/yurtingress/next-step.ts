/** Decides the next step for the front door of a pool. Pure. */
import { isDeepStrictEqual } from 'node:util';
import {
  INGRESS_CLASSES,
  type IngressClass,
  isBeingDeleted,
  type KubeObject,
  NAMESPACES,
  type Resource,
} from '@tidegate/kube';
import { FRONT_DOOR_NAMESPACE, L7_ROUTERS, type L7Router, type YurtIngress } from '../api/index.ts';
import { conflictingObject, holderOf, type Observed, ownerOf } from './observed.ts';
import { corrected, wantedClass, wantedRouter } from './wanted.ts';

/** At most one write. Its result comes back as a watch event and is observed before the next step. */
export type Step =
  | { readonly do: 'nothing' }
  /** `released`: no YurtIngress claims the pool any more. Otherwise the object is created again immediately. */
  | { readonly do: 'delete'; readonly resource: Resource; readonly object: KubeObject; released: boolean }
  | { readonly do: 'create' | 'update'; readonly resource: Resource; readonly object: KubeObject };

const NOTHING: Step = { do: 'nothing' };

/** Returns the first step towards the wanted state: a front door for the owner, or none if the pool is not claimed. */
export function nextStep(observed: Observed): Step {
  const owner = ownerOf(observed);
  return owner === undefined ? remove(observed) : provision(observed, owner);
}

/**
 * Deletes the class before the router. The controller that places hosts on routers would create another router for
 * a class that has none.
 */
function remove({ router, ingressClass }: Observed): Step {
  for (const [resource, object] of [
    [INGRESS_CLASSES, ingressClass],
    [L7_ROUTERS, router],
  ] as const) {
    if (object === undefined || holderOf(object) === undefined) continue;
    return isBeingDeleted(object) ? NOTHING : { do: 'delete', resource, object, released: true };
  }
  return NOTHING;
}

/** Creates the router before the class, for the same reason. */
function provision(observed: Observed, owner: YurtIngress): Step {
  const { pool, exists, namespace, router, ingressClass } = observed;
  if (conflictingObject(observed) !== undefined) return NOTHING;
  // A pool that does not exist may be a typo, so it gets no front door. The front door of a deleted pool is kept until
  // the YurtIngress no longer lists the pool.
  if (router === undefined && !exists) return NOTHING;
  if ([router, ingressClass, namespace].some((object) => object !== undefined && isBeingDeleted(object))) {
    return NOTHING;
  }
  if (namespace === undefined) return { do: 'create', resource: NAMESPACES, object: NAMESPACE };
  const routerStep = createOrUpdate(L7_ROUTERS, router, wantedRouter(pool, owner));
  if (routerStep !== undefined) return routerStep;
  const wanted = wantedClass(pool, owner);
  return hasOtherController(ingressClass, wanted)
    ? { do: 'delete', resource: INGRESS_CLASSES, object: ingressClass, released: false }
    : (createOrUpdate(INGRESS_CLASSES, ingressClass, wanted) ?? NOTHING);
}

const NAMESPACE: KubeObject = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: FRONT_DOOR_NAMESPACE },
};

/** `spec.controller` of an IngressClass is immutable, so the class must be deleted and created again. */
const hasOtherController = (live: IngressClass | undefined, { spec }: IngressClass): live is IngressClass =>
  live !== undefined && live.spec?.controller !== spec?.controller;

/** Returns undefined if the object is as wanted. */
function createOrUpdate<T extends L7Router | IngressClass>(
  resource: Resource<T>,
  live: T | undefined,
  wanted: T,
): Step | undefined {
  if (live === undefined) return { do: 'create', resource, object: wanted };
  const object = corrected(live, wanted);
  return isDeepStrictEqual(object, live) ? undefined : { do: 'update', resource, object };
}
