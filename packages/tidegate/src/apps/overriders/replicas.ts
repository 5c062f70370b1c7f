import { write } from '../json.ts';
import type { Overrider } from './overrider.ts';

/** How many pods. None is a number too. */
export const overrideReplicas: Overrider<number> = (object, replicas, workload) =>
  workload.replicas ? write(object, ['spec', 'replicas'], replicas) : undefined;
