/** At most one PriorityClass is the default. */

import { refusal } from '../operations/refusal.ts';
import type { PriorityClass } from '../resources/pod/priority.ts';
import { decodeStored } from '../served/codec.ts';
import type { Store } from '../store/types.ts';
import type { Plugin } from './plugin.ts';

const CLASSES = 'scheduling.k8s.io/priorityclasses';

export function singleDefaultPriority(store: Store): Plugin {
  return (attributes) => {
    const { served, object, name } = attributes;
    if (
      served.definition.storage !== CLASSES ||
      (object as PriorityClass | undefined)?.globalDefault !== true
    ) {
      return;
    }
    const other = store
      .list(CLASSES)
      .entries.find((entry) => entry.name !== name && (decodeStored(entry) as PriorityClass).globalDefault);
    if (other === undefined) return;
    throw refusal(
      attributes,
      `PriorityClass ${other.name} is already marked as default. Only one default can exist`,
    );
  };
}
