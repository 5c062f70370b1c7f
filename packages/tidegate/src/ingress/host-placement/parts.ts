import type { ClassTable } from '../classes/index.ts';
import type { Departures } from './departures.ts';
import type { FamilyPlacements } from './family-placements.ts';
import type { RoutersToWrite } from './router-objects.ts';
import type { RoutesByFamily } from './routes-by-family.ts';

/** Called when the status of Ingresses or routers may have changed. The status controllers implement it. */
export interface RouteListener {
  /** The outcome of the Ingress has changed: the hosts that are served, or its problems. */
  ingress(key: string): void;
  /** The hosts, rules or problems of the routers of a family have changed. */
  family(key: string): void;
  /** A router that is being deleted may be removed now. */
  drained(router: string): void;
}

/** What placement shares with the other controllers. */
export interface PlacementParts {
  readonly classes: ClassTable;
  readonly routesByFamily: RoutesByFamily;
  readonly placements: FamilyPlacements;
  readonly departures: Departures;
  readonly provisioned: Pick<RoutersToWrite, 'sectionsLedTo'>;
}
