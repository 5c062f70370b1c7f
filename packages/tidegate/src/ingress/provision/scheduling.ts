import type { Deployment } from '@tidegate/kube';
import { type L7Router, NODE_GROUP_LABEL, NODE_POOL_LABEL, ROUTER_LABEL } from '../../api/index.ts';

export type PodSpec = NonNullable<NonNullable<Deployment['spec']>['template']['spec']>;

const POOL_LABELS = [NODE_POOL_LABEL, NODE_GROUP_LABEL];

/**
 * Scheduling constraints of router pods.
 * - With a pool: only nodes of the pool. All taints are tolerated, because pools often taint their nodes.
 * - Without a pool: preferably nodes outside of all pools, because in a pool the hub would hide endpoints of other pools
 *   from the router.
 * - Replicas preferably run on different nodes. This is also set for a single replica: otherwise, a change from one to
 *   two replicas would change the pod template and restart the running pod.
 */
export function scheduling({
  spec: { pool },
  metadata,
}: L7Router): Pick<PodSpec, 'affinity' | 'tolerations'> {
  const apart = {
    labelSelector: { matchLabels: { [ROUTER_LABEL]: `${metadata.name}` } },
    topologyKey: 'kubernetes.io/hostname',
  };
  return {
    affinity: {
      nodeAffinity: pool === undefined ? OUTSIDE_POOLS : inPool(pool),
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: apart }],
      },
    },
    ...(pool !== undefined && { tolerations: [{ operator: 'Exists' }] }),
  };
}

type NodeAffinity = NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']>;

const OUTSIDE_POOLS: NodeAffinity = {
  preferredDuringSchedulingIgnoredDuringExecution: [
    {
      weight: 100,
      preference: { matchExpressions: POOL_LABELS.map((key) => ({ key, operator: 'DoesNotExist' })) },
    },
  ],
};

const inPool = (pool: string): NodeAffinity => ({
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: POOL_LABELS.map((key) => ({
      matchExpressions: [{ key, operator: 'In', values: [pool] }],
    })),
  },
});
