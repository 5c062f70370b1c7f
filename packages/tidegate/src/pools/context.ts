import type { ControllerContext } from '@tidegate/kube';
import type { Membership } from './membership.ts';

/** What the controllers of this folder are given. */
export interface PoolsContext extends ControllerContext {
  /** Follows the same informers: see followMembership. */
  membership: Membership;
}
