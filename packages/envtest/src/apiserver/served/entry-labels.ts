/** The labels of stored objects, for selectors: read once for each entry, or remembered when the entry is written. */
import type { Labels } from '@tidegate/kube';
import type { Entry } from '../store/types.ts';
import { sharedLabels, storedLabels } from './stored-labels.ts';

/** Entries are immutable, so their labels never change. */
const labelsOf = new WeakMap<Entry, Labels>();
const NO_LABELS: Labels = {};

export function labelsOfEntry(entry: Entry): Labels {
  const known = labelsOf.get(entry);
  if (known !== undefined) return known;
  const made = storedLabels(entry.value) ?? NO_LABELS;
  labelsOf.set(entry, made);
  return made;
}

/** Called by writers, which have the object in memory. The first list with a selector then reads no object at all. */
export function rememberLabels(entry: Entry, labels: Labels | null | undefined): void {
  if (labelsOf.has(entry)) return;
  labelsOf.set(entry, labels ? sharedLabels(JSON.stringify(labels)) : NO_LABELS);
}
