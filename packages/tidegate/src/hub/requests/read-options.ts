import { isWatch, type ListOptions, listOptions, type WatchOptions, watchOptions } from '@tidegate/serving';
import { readSelection, type Selection } from '../projections/index.ts';

/** The query of a list or watch request. */
export type ReadOptions =
  | { readonly watch: false; readonly selection: Selection; readonly options: ListOptions }
  | { readonly watch: true; readonly selection: Selection; readonly options: WatchOptions };

/** Validates the query as an API server does, and throws the same errors. `namespace` comes from the path. */
export function readOptions(query: URLSearchParams, namespace: string): ReadOptions {
  const selection = readSelection(namespace, query);
  return isWatch(query)
    ? { watch: true, selection, options: watchOptions(query) }
    : { watch: false, selection, options: listOptions(query) };
}
