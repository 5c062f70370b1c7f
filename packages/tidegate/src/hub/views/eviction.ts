import type { ViewKey } from './view.ts';
import { isSingle, isVital } from './view-key.ts';

/** What the hub keeps of views, in memory and on disk. Sizes are bytes of JSON. */
export interface ViewLimits {
  /** The size of one view. Larger views are not stored; shared views have no limit. */
  viewBytes: number;
  /** The total size of all idle views. */
  idleBytes: number;
  /** The number of views that are not single objects. */
  lists: number;
  /** The number of views of one object, which store the responses to GETs. */
  singles: number;
}

export const DEFAULT_LIMITS: ViewLimits = {
  viewBytes: 32 << 20,
  idleBytes: 256 << 20,
  lists: 500,
  singles: 2_000,
};

interface Candidate {
  readonly key: ViewKey;
  /** No client holds the view, and no watch follows it. Only idle views are evicted. */
  readonly isIdle: boolean;
  /** When a client last used the view, in milliseconds since the epoch. */
  readonly usedAt: number;
  readonly progress: { readonly bytes: number } | undefined;
}

/**
 * Chooses the views to delete, so that the remaining ones are within the limits. Within each group, the least recently
 * used view goes first.
 *
 * Views that clients hold, or that are followed, count towards the limits on numbers but are never evicted. Neither are
 * lists that the kubelet depends on (see `isVital`): without them, the node could not restart its pods while no API server
 * is reachable. Single objects are different. The kubelet reads each Secret and ConfigMap of its pods by name, and
 * the hub is not notified when the last pod that uses one is deleted. So the node's single objects are evicted too, but only
 * for the limit on their number, and after all single objects of other identities.
 */
export function victims<C extends Candidate>(views: Iterable<C>, limits: ViewLimits): C[] {
  const all = [...views];
  const idle = all.filter((view) => view.isIdle).sort((a, b) => a.usedAt - b.usedAt);
  const singles = idle.filter(({ key }) => isSingle(key));
  const expendable = [
    ...singles.filter(({ key }) => !isVital(key)),
    ...singles.filter(({ key }) => isVital(key)),
  ];
  const lists = idle.filter(({ key }) => !isSingle(key) && !isVital(key));
  const count = all.filter(({ key }) => isSingle(key)).length;
  const tooMany = [
    ...expendable.slice(0, Math.max(0, count - limits.singles)),
    ...lists.slice(0, Math.max(0, all.length - count - limits.lists)),
  ];
  return [...tooMany, ...tooHeavy(idle, new Set(tooMany), limits.idleBytes)];
}

/** The idle views that exceed the limit on the total size. Vital views neither count nor go. */
function tooHeavy<C extends Candidate>(idle: C[], gone: ReadonlySet<C>, mostBytes: number): C[] {
  const left = idle.filter((view) => !gone.has(view) && !isVital(view.key));
  let bytes = left.reduce((sum, { progress }) => sum + (progress?.bytes ?? 0), 0);
  return left.filter(({ progress }) => {
    if (bytes <= mostBytes) return false;
    bytes -= progress?.bytes ?? 0;
    return true;
  });
}
