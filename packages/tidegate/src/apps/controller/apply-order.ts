import type { Rendered } from '../render/result.ts';

/** Kinds that other objects depend on, in the order in which they are applied. */
const NEEDED_FIRST = ['Namespace', 'CustomResourceDefinition', 'ServiceAccount', 'ConfigMap', 'Secret'];

/** Sorts objects so that the kinds above come first. The sort is stable, so other objects keep their order. */
export function inApplyOrder(objects: readonly Rendered[]): Rendered[] {
  const rank = ({ object }: Rendered): number => {
    const place = NEEDED_FIRST.indexOf(object.kind);
    return place < 0 ? NEEDED_FIRST.length : place;
  };
  return objects.toSorted((a, b) => rank(a) - rank(b));
}
