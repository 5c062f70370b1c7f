import type { IngressContext } from '../ingress/context.ts';
import type { PoolsContext } from '../pools/index.ts';

/** What the controllers of this folder are given. */
export type YurtIngressContext = IngressContext & PoolsContext;
