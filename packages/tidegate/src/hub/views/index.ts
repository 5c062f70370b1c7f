/**
 * Views: copies of what one identity may list and watch, in memory and on disk. A view is the unit of storing, of
 * following the API server, and of offline service. view.ts defines the terms; view-key.ts identifies a view.
 *
 * Views are kept per identity because the API server authorizes per identity: whatever a view contains, the API server
 * has shown to that identity. Shared views are the exception. They are read with the node's credentials, and access/
 * asks the API server about each client before it gets data from them.
 *
 * The life of one view. A client lists, and the response is stored (pages.ts, storage.ts). It watches: views.ts finds
 * the view in view-index.ts and holds it, managed-view.ts loads it into memory (memory-view.ts) and starts follow.ts,
 * which continues from the version of the list with the client's own credentials (identity-clients.ts). Each event
 * changes the objects in memory, on disk and for the subscribers in one step. The API server becomes unreachable: the
 * view stays as it is. It is reachable again: the watch continues from the version of the view; if that is too old, a
 * new list is turned into changes (difference.ts), unless it would delete all pods of the node (wipe-guard.ts). The
 * client leaves: five minutes later the view is on disk only. followed-shares.ts limits what is followed for a client,
 * and eviction.ts what is stored for it.
 *
 * The overlay. While no API server is reachable, the hub accepts some writes of the kubelet into its journal. The kubelet
 * must read back what it wrote, so `Views.overlay` puts the written object into every view of the node that contains it,
 * in memory and on disk, and marks it as overlaid. The version of the view does not change: the API server has not seen
 * the write. The next event or list from the API server that contains the object replaces it, even if the resourceVersion
 * is the same as before, and clears the mark.
 */
export {
  IdentityDroppedError,
  NothingStoredError,
  TooManyWatchesError,
  ViewTooLargeError,
} from './errors.ts';
export { exactBytes, itemOf, objectOf } from './item.ts';
export { untilUpToDate } from './up-to-date.ts';
export type { View, ViewChange, ViewItem, ViewKey } from './view.ts';
export { isSingle, NODE, podsOfNode, SHARED } from './view-key.ts';
export { type HeldView, Views } from './views.ts';
