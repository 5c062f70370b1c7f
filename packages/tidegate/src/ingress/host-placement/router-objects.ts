import { isBeingDeleted } from '@tidegate/kube';
import type { L7Router } from '../../api/index.ts';
import type { Family } from '../classes/index.ts';
import type { ClassSettings } from '../classes/settings.ts';
import type { HostName } from '../model.ts';
import { allocate } from './fixed-addresses.ts';
import type { PlannedRouter } from './placement.ts';
import { asPlaced, compareNames, type DepartingSpec, routerObject } from './router-object.ts';
import { sectionFor } from './sections.ts';

export interface RoutersToWrite {
  /** Those whose hosts have changed. */
  readonly planned: readonly PlannedRouter[];
  /** Other routers of the family that are written too. */
  readonly others: readonly L7Router[];
  /** All routers of the family, by name. */
  readonly known: ReadonlyMap<string, L7Router>;
  /** The routers of all families. */
  readonly all: readonly L7Router[];
  readonly family: Family;
  readonly settings: ClassSettings;
  departingOf(hosts: readonly HostName[]): DepartingSpec;
  /** The sections of shared pods that Services lead to now, with the names of their routers. */
  sectionsLedTo(sharedPods: string): ReadonlyMap<number, string>;
}

/** The L7Routers to write. New ones come first. Pure. */
export function routerObjects(write: RoutersToWrite): L7Router[] {
  const { planned, others, known, family, settings, departingOf } = write;
  const lists = new Map<string, PlannedRouter>();
  for (const router of others)
    if (!isBeingDeleted(router)) lists.set(`${router.metadata.name}`, asPlaced(router));
  for (const each of planned) lists.set(each.name, each);
  const siblings = [...new Set([...known.keys(), ...lists.keys()])]
    .map((name) => ({ name, workload: known.get(name)?.spec.workload }))
    .sort(compareNames);
  const allocated = allocate(settings.fixed, siblings);
  const { sharedPods } = settings.workload;
  const objects: L7Router[] = [];
  const inOrder = [...lists.values()].sort(
    (a, b) => Number(known.has(a.name)) - Number(known.has(b.name)) || compareNames(a, b),
  );
  for (const each of inOrder) {
    const section =
      sharedPods === undefined
        ? undefined
        : sectionFor(each.name, sharedPods, [...write.all, ...objects], write.sectionsLedTo(sharedPods));
    const own = { ...allocated.get(each.name), ...(section !== undefined && { section }) };
    objects.push(routerObject({ ...each, ...departingOf(each.hosts) }, family, settings, own));
  }
  return objects;
}
