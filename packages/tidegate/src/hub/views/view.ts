import type { Resource } from '@tidegate/kube';

/** Identifies a view: the identity that it was read with, and the objects that it selects. Equal keys are the same view. */
export interface ViewKey {
  /**
   * The key of the identity that the API server authorized: `node`, `sa:<namespace>:<name>:<uid>`, `token:<hash>`, and
   * so on. `shared` for views that serve all clients of the node.
   */
  readonly identity: string;
  readonly resource: Resource;
  /** Empty: all namespaces. */
  readonly namespace: string;
  /** Both selectors are in normal form, so that equivalent requests use the same view. Empty: everything. */
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

/** One object as the API server sent it. It is kept as bytes, so that the hub can serve it without parsing it. */
export interface ViewItem {
  /** `namespace/name`, or `name` for cluster-scoped objects. */
  readonly key: string;
  readonly resourceVersion: string;
  /** JSON, with apiVersion and kind. */
  readonly bytes: Buffer;
}

export type ViewChange =
  | { readonly type: 'put'; readonly item: ViewItem; readonly previous: ViewItem | undefined }
  /** `item` is the last state of the object, with the resourceVersion of the deletion. */
  | { readonly type: 'delete'; readonly item: ViewItem; readonly previous: ViewItem };

/**
 * Receives changes in order, and the resourceVersion of the view after them. A call without changes is a bookmark.
 *
 * `relisted`: the changes are the difference to a new list. Events between the previous version and this one are not
 * known: an object that was created and deleted in that time appears in no change.
 */
export type ViewListener = (
  changes: readonly ViewChange[],
  resourceVersion: string,
  relisted?: boolean,
) => void;

/** The objects that one identity sees under one path and selector, as the API server last reported them. */
export interface View {
  readonly key: ViewKey;
  /**
   * `empty`: no complete state has arrived yet. `following`: a watch upstream keeps the view current. `stored`: the view
   * is as the last list or watch left it, and may be out of date.
   */
  readonly state: 'empty' | 'stored' | 'following';
  /** Undefined while the view is empty. */
  readonly resourceVersion: string | undefined;
  /** For example `EndpointSlice` and `EndpointSliceList`. Undefined while the view is empty. */
  readonly kind: string | undefined;
  readonly listKind: string | undefined;
  /** The number of objects. */
  readonly size: number;
  /** `key` is `namespace/name`, or `name` for cluster-scoped objects. */
  get(key: string): ViewItem | undefined;
  items(): IterableIterator<ViewItem>;
  /** The listener is called synchronously, after the view has changed: it can read the new state from the view. */
  subscribe(listener: ViewListener): () => void;
  /**
   * Resolves when the view is not empty. Rejects with the refusal of the API server, or with NothingStoredError if no API
   * server is reachable and nothing is stored.
   */
  ready(signal: AbortSignal): Promise<void>;
  /** Calls the listener each time a watch upstream opens. */
  onFollowing(listener: () => void): () => void;
  /**
   * Calls the listener when the API server refuses the view, for example because a permission was revoked or the
   * resource was removed, and when the hub drops it. Watches of the view must end.
   */
  onRefused(listener: (why: Error) => void): () => void;
}
