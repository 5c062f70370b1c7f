/** Builders of objects for tests. */

import type { IngressClass, Namespace } from '@tidegate/kube';
import {
  type L7Router,
  YURT_INGRESS_FINALIZER,
  type YurtIngress,
  type YurtIngressSpec,
} from '../../api/index.ts';
import type { Observed } from '../observed.ts';
import { wantedClass, wantedRouter } from '../wanted.ts';

/** `age` is in seconds. */
export const yurtIngress = (name: string, spec: YurtIngressSpec = {}, age = 0): YurtIngress => ({
  apiVersion: 'apps.openyurt.io/v1alpha1',
  kind: 'YurtIngress',
  metadata: {
    name,
    uid: `uid-${name}`,
    generation: 1,
    creationTimestamp: new Date(Date.UTC(2026, 0, 1) - age * 1000).toISOString(),
    finalizers: [YURT_INGRESS_FINALIZER],
  },
  spec,
});

export const namespace: Namespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'ingress-nginx' },
};

export const withStatus = (
  router: L7Router,
  status: 'True' | 'False',
  reason = 'Serving',
  message = '',
): L7Router => ({
  ...router,
  status: {
    conditions: [
      {
        type: 'Ready',
        status,
        reason,
        message,
        lastTransitionTime: '',
        observedGeneration: router.metadata.generation ?? 0,
      },
    ],
  },
});

export const observed = (more: Partial<Observed> = {}): Observed => ({
  pool: 'hangzhou',
  exists: true,
  nodes: 1,
  claimants: [],
  router: undefined,
  ingressClass: undefined,
  namespace,
  ...more,
});

/** The objects of a front door as the API server returns them. */
export function madeFor(
  owner: YurtIngress,
  pool = 'hangzhou',
): { router: L7Router; ingressClass: IngressClass } {
  const [router, ingressClass] = [wantedRouter(pool, owner), wantedClass(pool, owner)];
  return {
    router: { ...router, metadata: { ...router.metadata, uid: 'uid-router', generation: 1 } },
    ingressClass: { ...ingressClass, metadata: { ...ingressClass.metadata, uid: 'uid-class' } },
  };
}
