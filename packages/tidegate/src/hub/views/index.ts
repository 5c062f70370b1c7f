/**
 * Views: copies of what one identity may list and watch, in memory and on disk. A view is the unit of storing, of
 * following the API server, and of offline service. `view.ts` has the terms; view-key.ts says which view it is.
 *
 * The life of one view: a client lists, and the response is stored (pages.ts, storage.ts). It watches: views.ts holds the
 * view, managed-view.ts loads it into memory (memory-view.ts) and starts follow.ts, which continues from the version of
 * the list with the client's own credentials (identity-clients.ts). Each event changes the objects in memory, on disk and
 * for the subscribers in one step. The API server becomes unreachable: the view stays as it is. It is reachable again:
 * the watch continues from the version of the view; if that is too old, a new list is turned into changes
 * (difference.ts), unless it would wipe what the node runs on (wipe-guard.ts). The client leaves: five minutes later the
 * view is on disk only, and eviction.ts deletes the oldest views when there are too many.
 */
export { IdentityDroppedError, NothingStoredError, ViewTooLargeError } from './errors.ts';
export { exactBytes, itemOf, objectOf } from './item.ts';
export { untilUpToDate } from './up-to-date.ts';
export type { View, ViewChange, ViewItem, ViewKey } from './view.ts';
export { SHARED } from './view-key.ts';
export { type HeldView, Views } from './views.ts';
