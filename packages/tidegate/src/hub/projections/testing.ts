import { keyOf } from '@tidegate/kube';
import type { Chain } from '../filters/filter.ts';

export const NO_FILTERS: Chain = { id: '', filters: [], apply: (object) => object, dependsOn: () => [] };

/**
 * A chain that hides the objects with these names. A test may change the set. Each object depends on `dependency`, or by
 * default on the Service with the name of the object.
 */
export function hiding(names: ReadonlySet<string>, dependency?: string): Chain {
  const chain: Omit<Chain, 'filters'> = {
    id: 'hiding',
    apply: (object) => (names.has(object.metadata.name ?? '') ? undefined : object),
    dependsOn: (object) => [dependency ?? `service:${keyOf(object)}`],
  };
  const filter = { name: 'hiding', components: [], resources: [], ...chain };
  return { ...chain, filters: [filter] };
}
