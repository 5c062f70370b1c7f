import type { DepartedClass, L7Router } from '../../api/index.ts';

/**
 * The classes that have left the address of a router, with the time in milliseconds since the epoch. A record without a valid
 * time gives no rights.
 */
export function departedClassesOf({ spec }: Pick<L7Router, 'spec'>): Map<string, number> {
  const times = (spec.departedClasses ?? []).map(
    ({ ingressClassName, since }) => [ingressClassName, Date.parse(since)] as const,
  );
  return new Map(times.filter(([, time]) => !Number.isNaN(time)));
}

export const departedClassRecord = (classes: ReadonlyMap<string, number>): DepartedClass[] =>
  [...classes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([ingressClassName, time]) => ({ ingressClassName, since: new Date(time).toISOString() }));
