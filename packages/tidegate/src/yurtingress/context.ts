import type { IngressContext } from '../ingress/context.ts';
import type { PoolsContext } from '../pools/index.ts';

/** The dependencies of the controllers in this folder. */
export type YurtIngressContext = IngressContext & PoolsContext;
