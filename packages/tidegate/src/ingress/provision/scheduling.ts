import type { Deployment } from '@tidegate/kube';
import { type L7Router, NODE_GROUP_LABEL, NODE_POOL_LABEL, ROUTER_LABEL } from '../../api/index.ts';

export type PodSpec = NonNullable<NonNullable<Deployment['spec']>['template']['spec']>;

const POOL_LABELS = [NODE_POOL_LABEL, NODE_GROUP_LABEL];

/**
 * In its pool, whatever keeps others away from there; without one rather outside of all pools, because in a pool it
 * sees what is in that pool only. Several of them on different nodes, if there are so many; said of a single one too, so
 * that those that run stay when there are more.
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
