import type { Rendered } from '../render/result.ts';

/** Others may be in it, be of it, or run as it. */
const NEEDED_FIRST = ['Namespace', 'CustomResourceDefinition', 'ServiceAccount', 'ConfigMap', 'Secret'];

/** What others can not do without comes first; otherwise as rendered. */
export function inOrderOfNeed(objects: readonly Rendered[]): Rendered[] {
  const rank = ({ object }: Rendered): number => {
    const place = NEEDED_FIRST.indexOf(object.kind);
    return place < 0 ? NEEDED_FIRST.length : place;
  };
  return objects.toSorted((a, b) => rank(a) - rank(b));
}
