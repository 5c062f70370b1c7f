/** Gives routers that share pods a number each. Pure. */
import { type L7Router, MOST_SECTIONS } from '../../api/index.ts';

/**
 * The lowest number that no other router of these pods has. A router keeps the number that it has. The Service of a router
 * that has left the pods leads to them until other pods serve it, so its number is in use too (`led`, with the names of the
 * routers); if the router returns meanwhile, it gets that number again. Undefined if all are in use: then the router is not
 * provisioned, and a condition says so.
 */
export function sectionFor(
  name: string,
  sharedPods: string,
  routers: readonly L7Router[],
  led: ReadonlyMap<number, string>,
): number | undefined {
  const members = routers.filter(({ spec }) => spec.workload?.sharedPods === sharedPods);
  const own = members.find(({ metadata }) => metadata.name === name)?.spec.workload?.section;
  if (own !== undefined) return own;
  const used = new Set(members.map(({ spec }) => spec.workload?.section));
  const isFree = (number: number): boolean => !used.has(number) && (led.get(number) ?? name) === name;
  for (const [number, router] of led) if (router === name && isFree(number)) return number;
  for (let number = 1; number <= MOST_SECTIONS; number++) if (isFree(number)) return number;
  return undefined;
}
