import type { Deployment } from '@tidegate/kube';
import { type L7Router, NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../../api/index.ts';
import { selectorOf } from './identity.ts';

export type PodSpec = NonNullable<NonNullable<Deployment['spec']>['template']['spec']>;

/** Whether pods of routers without a pool must run outside of all pools. */
export type OutsidePools = 'required' | 'preferred';

const POOL_LABELS = [NODE_POOL_LABEL, NODE_GROUP_LABEL];

/**
 * Scheduling constraints of router pods.
 * - With a pool: only nodes of the pool. All taints are tolerated, because pools often taint their nodes.
 * - Without a pool: nodes outside of all pools, because in a pool the hub would hide endpoints of other pools from the
 *   router. The scheduler weighs a preference against other reasons, so this is required. If all nodes are in pools, it is
 *   only preferred: the router runs, and its status reports which pods cannot see all pools.
 * - Replicas preferably run on different nodes. This is also set for a single replica: otherwise, a change from one to
 *   two replicas would change the pod template and restart the running pod.
 */
export function scheduling(
  router: L7Router,
  outsidePools: OutsidePools,
): Pick<PodSpec, 'affinity' | 'tolerations'> {
  const { pool } = router.spec;
  const apart = {
    labelSelector: { matchLabels: selectorOf(router) },
    topologyKey: 'kubernetes.io/hostname',
  };
  return {
    affinity: {
      nodeAffinity: pool === undefined ? OUTSIDE_POOLS[outsidePools] : inPool(pool),
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: apart }],
      },
    },
    ...(pool !== undefined && { tolerations: [{ operator: 'Exists' }] }),
  };
}

type NodeAffinity = NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']>;

const IN_NO_POOL = { matchExpressions: POOL_LABELS.map((key) => ({ key, operator: 'DoesNotExist' })) };

const OUTSIDE_POOLS: Readonly<Record<OutsidePools, NodeAffinity>> = {
  required: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [IN_NO_POOL] } },
  preferred: {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: IN_NO_POOL }],
  },
};

const inPool = (pool: string): NodeAffinity => ({
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: POOL_LABELS.map((key) => ({
      matchExpressions: [{ key, operator: 'In', values: [pool] }],
    })),
  },
});
