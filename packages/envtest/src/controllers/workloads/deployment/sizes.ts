import type { ReplicaSet } from '@tidegate/kube';

/** How many replicas each ReplicaSet should have after this step. */
export interface Sizes {
  /** Undefined: there is no ReplicaSet for the present template, and none shall be made now. */
  current: number | undefined;
  /** Who is not in it keeps its size. */
  old: ReadonlyMap<ReplicaSet, number>;
}
