import { compareResourceVersions, isOlderVersion } from '@tidegate/kube';
import { goneAt, objectOf } from './item.ts';
import type { ViewChange, ViewItem } from './view.ts';

interface State {
  readonly items: ReadonlyMap<string, ViewItem>;
  readonly resourceVersion: string | undefined;
  /** Keys of items that the API server has not said itself. */
  readonly overlaid: ReadonlySet<string>;
}

/**
 * What happened between a state and a complete list, as changes in an order in which they may have happened. A list may
 * be older than the state: then the API server's data were restored, and its word counts all the same.
 */
export function difference(state: State, list: readonly ViewItem[], listVersion: string): ViewChange[] {
  const rolledBack = isOlderVersion(listVersion, state.resourceVersion);
  const puts: ViewItem[] = [];
  const gone = new Set(state.items.keys());
  for (const item of list) {
    gone.delete(item.key);
    const previous = state.items.get(item.key);
    const trusted = previous !== undefined && !state.overlaid.has(item.key);
    if (!trusted || !isSame(previous, item, rolledBack)) puts.push(item);
  }
  puts.sort((a, b) => compareResourceVersions(a.resourceVersion, b.resourceVersion) ?? 0);
  const changes = puts.flatMap((item) => replaced(state.items.get(item.key), item));
  for (const key of gone) {
    const previous = state.items.get(key)!;
    changes.push({ type: 'delete', item: goneAt(previous, listVersion), previous });
  }
  return changes;
}

/** Once history has branched, one resourceVersion may stand for two contents. */
const isSame = (previous: ViewItem, item: ViewItem, rolledBack: boolean): boolean =>
  previous.resourceVersion === item.resourceVersion && (!rolledBack || previous.bytes.equals(item.bytes));

/** An object that was deleted and made again while nobody looked is two objects that share a name. */
function replaced(previous: ViewItem | undefined, item: ViewItem): ViewChange[] {
  if (previous === undefined || objectOf(previous).metadata.uid === objectOf(item).metadata.uid) {
    return [{ type: 'put', item, previous }];
  }
  return [
    { type: 'delete', item: goneAt(previous, item.resourceVersion), previous },
    { type: 'put', item, previous: undefined },
  ];
}
