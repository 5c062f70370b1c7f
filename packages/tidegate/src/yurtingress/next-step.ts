/** What to do next about the front door of a pool. Pure. */
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
import { holderOf, inTheWay, type Observed, ownerOf } from './observed.ts';
import { corrected, wantedClass, wantedRouter } from './wanted.ts';

/** One write at most: what comes of it is observed before the next. */
export type Step =
  | { readonly do: 'nothing' }
  /** `released`: nobody wants it any more. Otherwise it is made anew at once. */
  | { readonly do: 'delete'; readonly resource: Resource; readonly object: KubeObject; released: boolean }
  | { readonly do: 'create' | 'update'; readonly resource: Resource; readonly object: KubeObject };

const NOTHING: Step = { do: 'nothing' };

export function nextStep(observed: Observed): Step {
  const owner = ownerOf(observed);
  return owner === undefined ? close(observed) : open(observed, owner);
}

/** The class goes first: a class without its router would be given another one by whoever places hosts on routers. */
function close({ router, ingressClass }: Observed): Step {
  for (const [resource, object] of [
    [INGRESS_CLASSES, ingressClass],
    [L7_ROUTERS, router],
  ] as const) {
    if (object === undefined || holderOf(object) === undefined) continue;
    return isBeingDeleted(object) ? NOTHING : { do: 'delete', resource, object, released: true };
  }
  return NOTHING;
}

/** The router comes first, for the same reason. */
function open(observed: Observed, owner: YurtIngress): Step {
  const { pool, exists, namespace, router, ingressClass } = observed;
  if (inTheWay(observed) !== undefined) return NOTHING;
  // Nothing is made for a name that may be a mistake; what was made for a pool that has gone stays until it is unasked.
  if (router === undefined && !exists) return NOTHING;
  if ([router, ingressClass, namespace].some((object) => object !== undefined && isBeingDeleted(object))) {
    return NOTHING;
  }
  if (namespace === undefined) return { do: 'create', resource: NAMESPACES, object: NAMESPACE };
  const routerStep = bringAbout(L7_ROUTERS, router, wantedRouter(pool, owner));
  if (routerStep !== undefined) return routerStep;
  const wanted = wantedClass(pool, owner);
  return isOther(ingressClass, wanted)
    ? { do: 'delete', resource: INGRESS_CLASSES, object: ingressClass, released: false }
    : (bringAbout(INGRESS_CLASSES, ingressClass, wanted) ?? NOTHING);
}

const NAMESPACE: KubeObject = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: FRONT_DOOR_NAMESPACE },
};

/** The controller of a class can not be changed. */
const isOther = (live: IngressClass | undefined, { spec }: IngressClass): live is IngressClass =>
  live !== undefined && live.spec?.controller !== spec?.controller;

function bringAbout<T extends L7Router | IngressClass>(
  resource: Resource<T>,
  live: T | undefined,
  wanted: T,
): Step | undefined {
  if (live === undefined) return { do: 'create', resource, object: wanted };
  const object = corrected(live, wanted);
  return isDeepStrictEqual(object, live) ? undefined : { do: 'update', resource, object };
}
