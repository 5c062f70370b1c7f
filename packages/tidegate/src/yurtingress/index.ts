/**
 * Front doors: every pool that a YurtIngress names gets a router of its own, reached by an IngressClass of the pool's
 * name. This folder owns those two objects and what the YurtIngress tells of them; the provisioner of the class makes
 * all that is behind them.
 *
 * `kubectl apply` of a YurtIngress with pool hangzhou:
 *   the yurt-ingress controller puts its finalizer there -> now it is a claimant (observed.ts)
 *   -> the front-door controller, which goes by pools, sees the claim: next-step.ts has it make the L7Router, and when
 *      that was seen the IngressClass (wanted.ts); whatever somebody changes there later is corrected the same way
 *   -> src/ingress/provision makes the router run, and says so in the status of the L7Router
 *   -> door-state.ts says what that means for the pool, status.ts for the YurtIngress.
 * When nobody wants the pool any more, next-step.ts takes the class away, then the router; a YurtIngress that is to be
 * deleted goes when nothing is left of its front doors.
 */
import type { Controller } from '@tidegate/kube';
import type { YurtIngressContext } from './context.ts';
import { frontDoorController } from './front-door-controller.ts';
import { FrontDoors } from './front-doors.ts';
import { yurtIngressController } from './yurt-ingress-controller.ts';

export { readSpec } from './read-spec.ts';

/** All controllers of front doors, their watches attached and not yet running. */
export function yurtIngressControllers(context: YurtIngressContext): Controller[] {
  const doors = new FrontDoors(context);
  return [frontDoorController(context, doors), yurtIngressController(context, doors)];
}
