import { decodeStored } from '../served/codec.ts';
import type { Store } from '../store/types.ts';

/** The name of the newest class whose annotation marks it as the default. */
export function newestMarked(store: Store, resource: string, annotation: string): string | undefined {
  const defaults = store
    .list(resource)
    .entries.map(decodeStored)
    .filter(({ metadata }) => metadata.annotations?.[annotation] === 'true')
    .map(({ metadata }) => ({ name: metadata.name ?? '', created: metadata.creationTimestamp ?? '' }));
  // Names and times are ASCII and all times have the same length, so they can be compared as text.
  defaults.sort((a, b) =>
    a.created === b.created ? (a.name < b.name ? -1 : 1) : a.created > b.created ? -1 : 1,
  );
  return defaults[0]?.name;
}
