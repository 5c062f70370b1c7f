/** Types that all kinds share. They match the types of @tidegate/kube, which this folder does not import. */
import type { ObjectMeta } from 'kubernetes-types/meta/v1.d.ts';

/** Without managed fields, which only the API server writes and informer caches drop. */
export type Metadata = Omit<ObjectMeta, 'managedFields'>;

export type Condition = {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
};

export type LabelSelector = {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
};

/** The REST resource of a kind. `T` is the type of its objects, for the compiler only. */
export interface KindResource<T> {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly objectType?: T;
}

/** The two kinds of pool: OpenYurt's and KubeEdge's. */
export type PoolKind = 'NodePool' | 'NodeGroup';
