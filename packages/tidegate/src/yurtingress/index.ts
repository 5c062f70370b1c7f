/**
 * Front doors: each pool of a YurtIngress gets an L7Router and an IngressClass, both with the name of the pool. This
 * folder owns these two objects and the status of the YurtIngress. `src/ingress/provision` creates the Deployment,
 * Service and RBAC objects behind them.
 *
 * After `kubectl apply` of a YurtIngress with the pool hangzhou:
 *
 * 1. The YurtIngress controller adds its finalizer. From now on the YurtIngress claims its pools (`observed.ts`).
 * 2. The front door controller, whose keys are pools, finds the claim. `next-step.ts` creates the L7Router, and then
 *    the IngressClass (`wanted.ts`). Drift is corrected in the same way.
 * 3. The provisioner runs the router and reports its state in the status of the L7Router.
 * 4. `door-state.ts` derives the state of the front door from it, and `status.ts` the status of the YurtIngress.
 *
 * When no YurtIngress claims the pool any more, `next-step.ts` deletes the class, then the router. A YurtIngress that is
 * being deleted keeps its finalizer until its front doors are gone.
 */
import type { Controller } from '@tidegate/kube';
import type { YurtIngressContext } from './context.ts';
import { frontDoorController } from './front-door-controller.ts';
import { FrontDoors } from './front-doors.ts';
import { yurtIngressController } from './yurt-ingress-controller.ts';

export { isOldIngressNginx, readSpec } from './read-spec.ts';

/** Creates the controllers of front doors and registers their watches. Does not run them. */
export function yurtIngressControllers(context: YurtIngressContext): Controller[] {
  const doors = new FrontDoors(context);
  return [frontDoorController(context, doors), yurtIngressController(context, doors)];
}
