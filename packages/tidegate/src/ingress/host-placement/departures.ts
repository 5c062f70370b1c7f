import { type Informer, type Ingress, keyOf } from '@tidegate/kube';
import type { L7Router } from '../../api/index.ts';
import { classesOf, departedClassesOf } from '../classes/index.ts';
import { classNameOf, type Departing } from '../compile/index.ts';
import { listedAddressesOf, routerAddressesOf } from '../listed-addresses.ts';
import { drainsOf } from './drains.ts';
import { placedFamilyOf } from './router-object.ts';

/** Times are milliseconds since the epoch. */
interface Departure {
  /** When the departure was seen first. */
  readonly began: number;
  /** Since when the new class serves the Ingress. */
  readonly since: number | undefined;
}

/**
 * Ingresses that have changed to a class of another family, and classes that have left a shared address with their Ingresses.
 * The routers of the old family serve them until those of the new one do, and the drain time is over: DNS records live long.
 * The spec of the L7Routers is the record, so a restarted manager continues with it.
 */
export class Departures {
  readonly #routers: Informer<L7Router>;
  readonly #now: () => number;
  /** By family, then by the key of the Ingress. */
  readonly #families = new Map<string, Map<string, Departure>>();
  /** By family: the classes that have left it, with the time. */
  readonly #classes = new Map<string, Map<string, number>>();

  constructor(routers: Informer<L7Router>, now: () => number) {
    this.#routers = routers;
    this.#now = now;
  }

  /** Reads the record. Call it when the informer has synced. */
  restore(): void {
    for (const router of this.#routers.cache.list()) {
      const family = placedFamilyOf(router);
      if (family === undefined) continue;
      const { ingresses } = drainsOf(router);
      const began = departuresOf(router);
      for (const key of router.spec.departing ?? [])
        this.add(family, key, ingresses.get(key), began.get(key));
      for (const [className, time] of departedClassesOf(router)) this.leave(family, className, time);
    }
  }

  /**
   * Finds Ingresses and classes that have left while no manager ran: the status of the Ingress still lists the address of a
   * router of another family. `hasClass` is whether an IngressClass exists. Call it after `restore`.
   */
  catchUp(
    ingresses: Iterable<Ingress>,
    familyOf: (className: string) => string | undefined,
    hasClass: (className: string) => boolean,
  ): void {
    const placed = this.#routers.cache.list().flatMap((router) => {
      const family = placedFamilyOf(router);
      return family === undefined ? [] : [{ router, family }];
    });
    const byAddress = new Map<string, typeof placed>();
    for (const each of placed)
      for (const address of routerAddressesOf(each.router))
        byAddress.set(address, [...(byAddress.get(address) ?? []), each]);
    for (const ingress of ingresses) {
      const className = classNameOf(ingress) ?? '';
      const key = keyOf(ingress);
      if (!hasClass(className)) continue;
      for (const { router, family } of listedAddressesOf(ingress).flatMap(
        (each) => byAddress.get(each) ?? [],
      )) {
        if (family === familyOf(className) || this.of(family).has(key)) continue;
        this.add(family, key);
        if (classesOf(router).includes(className)) this.leave(family, className);
      }
    }
  }

  /** `began`: the time in the record. Of several routers with the Ingress, the earliest counts. */
  add(family: string, ingress: string, since?: number, began = this.#now()): void {
    const known = this.#families.get(family) ?? new Map<string, Departure>();
    const before = known.get(ingress);
    known.set(ingress, { began: Math.min(before?.began ?? began, began), since: before?.since ?? since });
    this.#families.set(family, known);
  }

  /** A class has left the family. Add its Ingresses too. */
  leave(family: string, className: string, time = this.#now()): void {
    this.#classes.set(family, (this.#classes.get(family) ?? new Map()).set(className, time));
  }

  delete(family: string, ingress: string): void {
    const known = this.#families.get(family);
    known?.delete(ingress);
    if (known?.size === 0) this.#families.delete(family);
  }

  /** Forgets all other classes that have left the family. */
  keepClasses(family: string, classNames: ReadonlySet<string>): void {
    const known = this.#classes.get(family);
    for (const name of [...(known?.keys() ?? [])]) if (!classNames.has(name)) known?.delete(name);
    if (known?.size === 0) this.#classes.delete(family);
  }

  of(family: string): ReadonlyMap<string, Departure> {
    return this.#families.get(family) ?? NONE;
  }

  /** For the compilers of the family. A copy, because a compiler compares it with the next one. */
  departingFrom(family: string): Departing {
    return { ingresses: new Set(this.of(family).keys()), classes: new Map(this.#classes.get(family)) };
  }

  /** Families that the Ingress has left. */
  familiesOf(ingress: string): string[] {
    return [...this.#families].filter(([, known]) => known.has(ingress)).map(([family]) => family);
  }

  /** Families that Ingresses have left. Most of the time there are none. */
  get families(): Iterable<string> {
    return this.#families.keys();
  }
}

const NONE: ReadonlyMap<string, Departure> = new Map();

/** A record without a valid time does not count: the Ingress waits from now on. */
function departuresOf({ spec }: L7Router): ReadonlyMap<string, number> {
  const times = (spec.departingSince ?? []).map(
    ({ ingress, since }) => [ingress, Date.parse(since)] as const,
  );
  return new Map(times.filter(([, time]) => !Number.isNaN(time)));
}
