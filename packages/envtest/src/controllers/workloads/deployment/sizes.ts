import type { ReplicaSet } from '@tidegate/kube';

/** The number of replicas of each ReplicaSet after this step. */
export interface Sizes {
  /** Undefined when the current template has no ReplicaSet and none should be created now. */
  current: number | undefined;
  /** A ReplicaSet that is not in the map keeps its size. */
  old: ReadonlyMap<ReplicaSet, number>;
}
