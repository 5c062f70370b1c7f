import { write } from '../json.ts';
import type { Overrider } from './overrider.ts';

/** Sets `spec.replicas`, also to 0. Does not match workloads without replicas, for example a DaemonSet. */
export const overrideReplicas: Overrider<number> = (object, replicas, workload) =>
  workload.replicas ? write(object, ['spec', 'replicas'], replicas) : undefined;
