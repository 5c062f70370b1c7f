/**
 * Placement: which router serves which host. RoutesByFamily compiles the Ingresses of each family of classes, and
 * FamilyRoutes keeps the number of rules of each host. HostGroups finds the hosts that must be together, Placement decides,
 * and fixed-addresses.ts gives each router an address of its own. controller.ts writes the decision to `spec.hosts` of the
 * L7Routers. That field is the only record of the placement, so a restarted manager continues with it. The agent of a
 * router serves exactly the hosts in this field. What moves away is served at both addresses for the drain time:
 * `spec.leaving` (hosts) and `spec.departing` (Ingresses of another class, departures.ts) list it, and `status.draining` has
 * the times (drains.ts).
 */
export { hostPlacementController } from './controller.ts';
export { Departures } from './departures.ts';
export { FamilyPlacements } from './family-placements.ts';
export type { FamilyRoutes } from './family-routes.ts';
export { isServing, placedFamilyOf } from './router-object.ts';
export { RoutesByFamily } from './routes-by-family.ts';
export { ServedBy } from './served-by.ts';
