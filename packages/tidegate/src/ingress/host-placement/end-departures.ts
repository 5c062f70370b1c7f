import { type Cache, type Ingress, keyOf } from '@tidegate/kube';
import type { L7Router } from '../../api/index.ts';
import { type ClassTable, departedClassRecord, type Family } from '../classes/index.ts';
import { classNameOf } from '../compile/index.ts';
import type { HostName } from '../model.ts';
import type { Departures } from './departures.ts';
import type { DepartingSpec } from './router-object.ts';
import type { RoutesByFamily } from './routes-by-family.ts';
import type { ServedBy } from './served-by.ts';

interface Parts {
  readonly ingresses: Cache<Ingress>;
  readonly classes: ClassTable;
  readonly routesByFamily: RoutesByFamily;
  readonly departures: Departures;
  readonly servedBy: ServedBy;
}

/**
 * How long an Ingress waits for the routers of its new class. Then its drain time begins in any case: a class that never gets
 * an address must not keep it on the old routers for ever.
 */
const LONGEST_WAIT_MS = 3_600_000;

/**
 * Ends the departures from a family whose drain time is over, or that have become pointless: the Ingress was deleted, or
 * has returned. Returns when the next drain time is over.
 */
export function endDepartures(key: string, now: number, parts: Parts): number | undefined {
  const { ingresses, classes, routesByFamily, departures } = parts;
  const family = classes.families.get(key);
  const classNames = new Set<string>();
  let next: number | undefined;
  for (const [ingress, { began, since: recorded }] of departures.of(key)) {
    const object = ingresses.get(ingress);
    const isPointless =
      family === undefined || object === undefined || family.classNames.includes(classNameOf(object) ?? '');
    // The clock may have been set back.
    const waitEnd = Math.min(began, now) + LONGEST_WAIT_MS;
    const isOver = (): boolean => waitEnd <= now || isServedElsewhere(object!, parts);
    const since = isPointless ? now : (recorded ?? (isOver() ? now : undefined));
    const end = since === undefined ? waitEnd : Math.min(since, now) + drainMsOf(family);
    if (isPointless || end <= now) departures.delete(key, ingress);
    else {
      departures.add(key, ingress, since);
      classNames.add(classNameOf(object) ?? '');
      next = Math.min(next ?? end, end);
    }
  }
  departures.keepClasses(key, classNames);
  routesByFamily.setDeparting(key);
  return next;
}

const drainMsOf = (family: Family | undefined): number => family?.settings?.drainMs ?? 0;

/** Whether the routers of its new class serve the Ingress. What a class of another controller does is not known. */
function isServedElsewhere(ingress: Ingress, { classes, routesByFamily, servedBy }: Parts): boolean {
  const className = classNameOf(ingress) ?? '';
  const family = classes.familyOf(className);
  if (family === undefined) return true;
  const hosts = routesByFamily.get(family.key)?.outcomeOf(keyOf(ingress))?.hosts ?? [];
  const { addresses, awaited } = servedBy.of({ className, family, hosts, listed: [] });
  return addresses.length > 0 && awaited.length === 0;
}

/** The departing Ingresses that a router with these hosts serves. Rules without a host are on every router. */
export function departingFrom(
  key: string,
  hosts: readonly HostName[],
  { departures, routesByFamily }: Pick<Parts, 'departures' | 'routesByFamily'>,
): DepartingSpec {
  const left = [...departures.of(key).keys()];
  if (left.length === 0) return {};
  const own = new Set(hosts);
  const isHere = (ingress: string): boolean =>
    (routesByFamily.get(key)?.outcomeOf(ingress)?.hosts ?? []).some((host) => host === '' || own.has(host));
  const departing = left.filter(isHere).sort();
  if (departing.length === 0) return {};
  const departedClasses = departedClassRecord(departures.departingFrom(key).classes);
  const known = departures.of(key);
  const departingSince = departing.map((ingress) => ({
    ingress,
    since: new Date(known.get(ingress)!.began).toISOString(),
  }));
  return { departing, departingSince, ...(departedClasses.length > 0 && { departedClasses }) };
}

/** Since when the new classes serve the Ingresses that depart from a router. */
export const departedSince = (
  { spec }: L7Router,
  departures: ReturnType<Departures['of']>,
): Map<string, number> =>
  new Map(
    (spec.departing ?? []).flatMap((ingress) => {
      const since = departures.get(ingress)?.since;
      return since === undefined ? [] : [[ingress, since]];
    }),
  );
