import type { ConditionUpdate } from '@tidegate/kube';
import type { L7Router } from '../../api/index.ts';
import type { ClassTable } from '../classes/index.ts';
import type { FamilyRoutes, RouteChanges } from './family-routes.ts';
import { Placement } from './placement.ts';
import { placedFamilyOf } from './router-object.ts';

interface Known {
  /** Undefined if the family has no hosts. */
  readonly placement: Placement | undefined;
  readonly routes: FamilyRoutes | undefined;
}

/** The placement of every family. The L7Routers are the record; this is what the last plan knew. */
export class FamilyPlacements {
  readonly #classes: ClassTable;
  readonly #known = new Map<string, Known>();

  constructor(classes: ClassTable) {
    this.#classes = classes;
  }

  /** The placement of a family, filled with its routes if it is new. */
  of(key: string, routes: FamilyRoutes): Placement {
    const known = this.#known.get(key);
    if (known?.placement !== undefined && known.routes === routes) return known.placement;
    const placement = new Placement();
    this.#known.set(key, { placement, routes });
    for (const host of routes.rules.keys()) {
      const size = routes.sizeOf(host);
      if (host !== '' && size !== undefined) placement.put(host, size);
    }
    for (const { ingress, hosts } of routes.outcomes) placement.groups.tie(ingress, hosts);
    return placement;
  }

  /** Follows the changes of a family. Returns whether a new plan is needed. */
  note(key: string, routes: FamilyRoutes, { hosts, ingresses }: RouteChanges): boolean {
    const known = this.#known.get(key);
    if (known?.placement === undefined || known.routes !== routes) return hosts.size > 0;
    const { placement } = known;
    for (const host of hosts) {
      const size = routes.sizeOf(host);
      if (host === '') continue;
      if (size === undefined) placement.remove(host);
      else placement.put(host, size);
    }
    let isTied = false;
    for (const ingress of ingresses)
      isTied = placement.groups.tie(ingress, routes.outcomeOf(ingress)?.hosts ?? []) || isTied;
    return hosts.size > 0 || isTied;
  }

  /** The family has no hosts. */
  clear(key: string): void {
    this.#known.set(key, { placement: undefined, routes: undefined });
  }

  /** The next plan starts from the L7Routers. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  /**
   * Whether a router that is being deleted has hosts that other routers do not serve for long enough. Undefined before the
   * first plan after a restart or a failed write.
   */
  isDraining(router: L7Router): boolean | undefined {
    const key = placedFamilyOf(router) ?? '';
    const family = this.#classes.families.get(key);
    if (family?.settings === undefined || family.driver !== router.spec.driver) return false;
    const known = this.#known.get(key);
    if (known === undefined) return (router.spec.hosts ?? []).length > 0 ? undefined : false;
    return known.placement?.isDraining(`${router.metadata.name}`) ?? false;
  }

  /** The condition HostsPlaced of the routers of a family. */
  conditionOf(key: string): ConditionUpdate {
    const { placement, routes } = this.#known.get(key) ?? {};
    const unsupported = [...(routes?.unsupported ?? [])].map(
      ([host, { message }]) => [host, message] as const,
    );
    const refused = [...(placement?.refused ?? []), ...unsupported];
    const [first] = refused;
    const type = 'HostsPlaced';
    if (first === undefined)
      return { type, status: 'True', reason: 'Placed', message: 'All hosts of the class have a router' };
    const message = `${refused.length} hosts have no router. ${first[0]}: ${first[1]}`;
    const reason = unsupported.length === refused.length ? 'NotSupported' : 'CapacityExceeded';
    return { type, status: 'False', reason, message };
  }
}
