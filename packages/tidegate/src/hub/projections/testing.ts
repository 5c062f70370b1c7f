import { keyOf } from '@tidegate/kube';
import type { Chain } from '../filters/filter.ts';

export const NO_FILTERS: Chain = { id: '', filters: [], apply: (object) => object, dependsOn: () => [] };

/** Withholds the objects of these names, which a test may change; they hang on the Service of their name, or on what it says. */
export function hiding(names: ReadonlySet<string>, dependency?: string): Chain {
  const chain: Omit<Chain, 'filters'> = {
    id: 'hiding',
    apply: (object) => (names.has(object.metadata.name ?? '') ? undefined : object),
    dependsOn: (object) => [dependency ?? `service:${keyOf(object)}`],
  };
  const filter = { name: 'hiding', components: [], resources: [], ...chain };
  return { ...chain, filters: [filter] };
}
