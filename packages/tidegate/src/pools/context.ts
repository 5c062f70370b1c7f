import type { ControllerContext } from '@tidegate/kube';
import type { Membership } from './membership.ts';

/** Dependencies of the controllers in this folder. */
export interface PoolsContext extends ControllerContext {
  /** Must be fed by the same informers, see `followMembership`. */
  membership: Membership;
}
