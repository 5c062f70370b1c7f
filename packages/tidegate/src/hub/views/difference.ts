import { compareResourceVersions, isOlderVersion } from '@tidegate/kube';
import { goneAt, objectOf } from './item.ts';
import type { ViewChange, ViewItem } from './view.ts';

/** The current state of a view. */
interface State {
  readonly items: ReadonlyMap<string, ViewItem>;
  readonly resourceVersion: string | undefined;
  /** The keys of objects with a write of the node that the API server has not confirmed. */
  readonly overlaid: ReadonlySet<string>;
}

/**
 * Turns a complete list into changes, so that subscribers of a view see a relist as ordinary events: first the new and
 * changed objects in the order of their versions, then the deleted ones.
 *
 * A list that is older than the state is applied as well. The API server was then restored from a backup, and the backup
 * is the truth now.
 */
export function difference(state: State, list: readonly ViewItem[], listVersion: string): ViewChange[] {
  const rolledBack = isOlderVersion(listVersion, state.resourceVersion);
  const puts: ViewItem[] = [];
  const gone = new Set(state.items.keys());
  for (const item of list) {
    gone.delete(item.key);
    const previous = state.items.get(item.key);
    // An overlaid object has the version of the object that it is based on, so equal versions do not mean equal contents.
    const isConfirmed = previous !== undefined && !state.overlaid.has(item.key);
    if (!isConfirmed || !isSame(previous, item, rolledBack)) puts.push(item);
  }
  puts.sort((a, b) => compareResourceVersions(a.resourceVersion, b.resourceVersion) ?? 0);
  const changes = puts.flatMap((item) => replaced(state.items.get(item.key), item));
  for (const key of gone) {
    const previous = state.items.get(key)!;
    changes.push({ type: 'delete', item: goneAt(previous, listVersion), previous });
  }
  return changes;
}

/** After a restore from a backup, the API server assigns versions again: one version may have had two contents. */
const isSame = (previous: ViewItem, item: ViewItem, rolledBack: boolean): boolean =>
  previous.resourceVersion === item.resourceVersion && (!rolledBack || previous.bytes.equals(item.bytes));

/**
 * If the uid differs, the object was deleted and created again between the two lists. Clients must see both events:
 * controllers and kubelets treat an object with another uid as another object.
 */
function replaced(previous: ViewItem | undefined, item: ViewItem): ViewChange[] {
  if (previous === undefined || objectOf(previous).metadata.uid === objectOf(item).metadata.uid) {
    return [{ type: 'put', item, previous }];
  }
  return [
    { type: 'delete', item: goneAt(previous, item.resourceVersion), previous },
    { type: 'put', item, previous: undefined },
  ];
}
