/**
 * Placement: which router serves which host. RoutesByFamily compiles the Ingresses of each family of classes, and
 * FamilyRoutes keeps the number of rules of each host. plan.ts is pure and decides. controller.ts writes the decision to
 * `spec.hosts` of the L7Routers. That field is the only record of the placement, so a restarted manager continues with
 * it. The agent of a router serves exactly the hosts in this field.
 */
export { hostPlacementController } from './controller.ts';
export type { FamilyRoutes } from './family-routes.ts';
export { RoutesByFamily } from './routes-by-family.ts';
