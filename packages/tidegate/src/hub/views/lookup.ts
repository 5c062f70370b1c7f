import { compareResourceVersions } from '@tidegate/kube';
import type { ManagedView } from './managed-view.ts';
import type { ViewItem } from './view.ts';
import { isComplete, reaches } from './view-key.ts';

/**
 * What the views of an identity know about one object. `absent`: a view that would contain the object does not.
 * `unknown`: no view would contain it, so the hub cannot know (a client gets 503, not 404).
 */
export type Lookup = { result: 'found'; item: ViewItem } | { result: 'absent' | 'unknown' };

/** Looks up one object in a view that contains everything that its key selects. */
export async function lookUpIn(view: ManagedView | undefined, objectKey: string): Promise<Lookup> {
  if (view?.progress === undefined) return { result: 'unknown' };
  return known(await view.item(objectKey));
}

/**
 * Looks up one object in views of one resource. Views may disagree, because they were read at different times; the view with
 * the newest version decides. At equal versions, a view that contains the object wins.
 */
export async function lookUpAcross(
  views: Iterable<ManagedView>,
  namespace: string,
  name: string,
): Promise<Lookup> {
  const objectKey = namespace === '' ? name : `${namespace}/${name}`;
  let best: { item: ViewItem | undefined; version: string } | undefined;
  for (const view of views) {
    const version = view.progress?.resourceVersion;
    if (version === undefined || !reaches(view.key, namespace)) continue;
    const item = await view.item(objectKey);
    if (item === undefined && !isComplete(view.key, namespace, name)) continue;
    const order = best === undefined ? 1 : (compareResourceVersions(version, best.version) ?? 0);
    if (order > 0 || (order === 0 && item !== undefined)) best = { item, version };
  }
  return best === undefined ? { result: 'unknown' } : known(best.item);
}

const known = (item: ViewItem | undefined): Lookup =>
  item === undefined ? { result: 'absent' } : { result: 'found', item };
