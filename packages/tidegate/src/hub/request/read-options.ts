import { isWatch, type ListOptions, listOptions, type WatchOptions, watchOptions } from '@tidegate/serving';
import { readSelection, type Selection } from './selection.ts';

/** What a list or watch asks for. */
export type ReadOptions =
  | { readonly watch: false; readonly selection: Selection; readonly options: ListOptions }
  | { readonly watch: true; readonly selection: Selection; readonly options: WatchOptions };

/** Checked as an API server checks it: throws its refusal. `namespace` is what the path says. */
export function readOptions(query: URLSearchParams, namespace: string): ReadOptions {
  const selection = readSelection(namespace, query);
  return isWatch(query)
    ? { watch: true, selection, options: watchOptions(query) }
    : { watch: false, selection, options: listOptions(query) };
}
