/**
 * Placement: which router a host is on. RoutesByFamily compiles the Ingresses of each family of classes, FamilyRoutes
 * keeps how many rules each host has; plan.ts decides, pure; controller.ts writes it down in the `hosts` of L7Routers,
 * where it stays. The agents of those routers serve what is written there, and nothing else.
 */
export { hostPlacementController } from './controller.ts';
export type { FamilyRoutes } from './family-routes.ts';
export { RoutesByFamily } from './routes-by-family.ts';
