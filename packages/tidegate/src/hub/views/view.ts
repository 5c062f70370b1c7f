import type { Resource } from '@tidegate/kube';

/** Whose it is and what it selects. Equal keys are the same view. */
export interface ViewKey {
  /** The key of the identity whose rights it was read with; `shared` for what all clients of the node read from. */
  readonly identity: string;
  readonly resource: Resource;
  /** Empty: all namespaces. */
  readonly namespace: string;
  /** In the normal form of their texts; empty: everything. */
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

/** One object as the API server sent it. */
export interface ViewItem {
  /** `namespace/name`, or `name`. */
  readonly key: string;
  readonly resourceVersion: string;
  /** JSON, with apiVersion and kind. */
  readonly bytes: Buffer;
}

export type ViewChange =
  | { readonly type: 'put'; readonly item: ViewItem; readonly previous: ViewItem | undefined }
  /** `item` is the last state, its resourceVersion that of the deletion. */
  | { readonly type: 'delete'; readonly item: ViewItem; readonly previous: ViewItem };

/**
 * Changes in their order, and the resourceVersion after them. Without changes it is a bookmark. `leap`: they are the
 * outcome of a list; what happened in between nobody knows.
 */
export type ViewListener = (changes: readonly ViewChange[], resourceVersion: string, leap?: boolean) => void;

/**
 * The objects that one identity sees under one path and selector, as they were when the API server was last heard.
 *
 * `following`: a watch upstream keeps it current. `stored`: it is as the last list or watch left it.
 */
export interface View {
  readonly key: ViewKey;
  readonly state: 'empty' | 'stored' | 'following';
  /** Undefined while empty, that is until the first complete state is there. */
  readonly resourceVersion: string | undefined;
  /** `EndpointSlice`, and what its lists are called. Undefined while nothing is known of it. */
  readonly kind: string | undefined;
  readonly listKind: string | undefined;
  readonly size: number;
  get(key: string): ViewItem | undefined;
  items(): IterableIterator<ViewItem>;
  /** Called within the change: whoever reads the view meanwhile sees it done. */
  subscribe(listener: ViewListener): () => void;
  /** Resolves once it is not empty; rejects with the API server's refusal, or when the link is away and nothing is stored. */
  ready(signal: AbortSignal): Promise<void>;
  /** Told whenever a watch upstream has begun to keep it current. */
  onFollowing(listener: () => void): () => void;
  /** The API server took the right to it away, or the resource is gone: watches of it end. */
  onRefused(listener: (why: Error) => void): () => void;
}
