/** What all kinds have in common. Structurally these are the kit's own types, which this folder does not import. */
import type { ObjectMeta } from 'kubernetes-types/meta/v1.d.ts';

/** Field managers are the server's business: nobody writes them, and caches drop them. */
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

/** Where the API server keeps a kind. `T` is the type of its objects; nothing at runtime depends on it. */
export interface KindResource<T> {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly objectType?: T;
}

/** The two kinds that people write for one concept: a named set of nodes at one site. */
export type PoolKind = 'NodePool' | 'NodeGroup';
