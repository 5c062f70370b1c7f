/** Gives routers that share pods a number each. Pure. */
import { type L7Router, MOST_SECTIONS } from '../../api/index.ts';

/**
 * The lowest number that no other router of these pods has. A router keeps the number that it has. Undefined if all are in
 * use: then the router is not provisioned, and a condition says so.
 */
export function sectionFor(
  name: string,
  sharedPods: string,
  routers: readonly L7Router[],
): number | undefined {
  const members = routers.filter(({ spec }) => spec.workload?.sharedPods === sharedPods);
  const own = members.find(({ metadata }) => metadata.name === name)?.spec.workload?.section;
  if (own !== undefined) return own;
  const used = new Set(members.map(({ spec }) => spec.workload?.section));
  for (let number = 1; number <= MOST_SECTIONS; number++) if (!used.has(number)) return number;
  return undefined;
}
