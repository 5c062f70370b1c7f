import type { FieldMatcher, LabelMatcher } from '../selectors/index.ts';

/** Query parameters, under the names that Kubernetes uses. Undefined values are not sent. */
export type Query = Record<string, string | number | boolean | undefined>;

/** Options of every request. */
export interface CallOptions {
  signal?: AbortSignal;
  /** How long to wait for the complete answer. Default: the default of the client. */
  deadlineMs?: number;
}

/** Selects objects. Without a namespace, objects of all namespaces are selected. */
export interface SelectOptions {
  namespace?: string;
  labelSelector?: string | LabelMatcher;
  fieldSelector?: string | FieldMatcher;
}

/** The parameters of a list, with the meaning that the Kubernetes API gives them. */
export interface ListOptions extends CallOptions, SelectOptions {
  resourceVersion?: string;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  limit?: number;
  continue?: string;
}

/**
 * The parameters of a watch, with the meaning that the Kubernetes API gives them. There is no deadline: a watch is
 * open for minutes. Set `timeoutSeconds` to limit it.
 */
export interface WatchOptions extends SelectOptions {
  signal?: AbortSignal;
  resourceVersion?: string;
  resourceVersionMatch?: 'NotOlderThan';
  allowWatchBookmarks?: boolean;
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
}

/** Options of create, update and patch. */
export interface WriteOptions extends CallOptions {
  dryRun?: boolean;
  // The owner of the written fields in managedFields. Default: derived from the user agent by the server.
  fieldManager?: string;
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  subresource?: string;
}

export interface PatchOptions extends WriteOptions {
  /** Take over fields that other managers own; only for apply. */
  force?: boolean;
}

/** Options of a delete. `preconditions` prevent the deletion of an object that was recreated or changed meanwhile. */
export interface DeleteOptions extends CallOptions {
  gracePeriodSeconds?: number;
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: boolean;
}

/** The patch types and their media types. `strategic` is only supported for built-in kinds. */
export const PATCH_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;
export type PatchType = keyof typeof PATCH_TYPES;

export const selectQuery = ({ labelSelector, fieldSelector }: SelectOptions): Query => ({
  labelSelector: textOf(labelSelector),
  fieldSelector: textOf(fieldSelector),
});

export const listQuery = (options: ListOptions): Query => ({
  ...selectQuery(options),
  resourceVersion: options.resourceVersion,
  resourceVersionMatch: options.resourceVersionMatch,
  limit: options.limit,
  continue: options.continue,
});

export const watchQuery = (options: WatchOptions): Query => ({
  watch: true,
  ...selectQuery(options),
  resourceVersion: options.resourceVersion,
  resourceVersionMatch: options.resourceVersionMatch,
  allowWatchBookmarks: options.allowWatchBookmarks,
  sendInitialEvents: options.sendInitialEvents,
  timeoutSeconds: options.timeoutSeconds,
});

export const writeQuery = (options: WriteOptions): Query => ({
  dryRun: options.dryRun === true ? 'All' : undefined,
  fieldManager: options.fieldManager,
  fieldValidation: options.fieldValidation,
});

/** The body of a delete request; undefined for the server's defaults. */
export function deleteBody(options: DeleteOptions): Record<string, unknown> | undefined {
  const { gracePeriodSeconds, propagationPolicy, preconditions, dryRun } = options;
  const fields = {
    gracePeriodSeconds,
    propagationPolicy,
    preconditions,
    dryRun: dryRun === true ? ['All'] : undefined,
  };
  if (Object.values(fields).every((v) => v === undefined)) return undefined;
  return { kind: 'DeleteOptions', apiVersion: 'v1', ...fields };
}

export function queryString(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/** A selector that matches nothing has no text form; an empty text would select everything. */
function textOf(selector: string | LabelMatcher | FieldMatcher | undefined): string | undefined {
  if (selector === undefined || typeof selector === 'string') return selector;
  const text = selector.toString();
  if (text === '' && !selector.empty) throw new TypeError('a selector that matches nothing cannot be sent');
  return text;
}
