/**
 * What a node writes while the cloud is away: the status of the node and its pods, its lease, events. Kept on disk, and
 * told to the API server when the link is back.
 *
 * A write: `takes` (journaled-write.ts) says that it is one of these -> `write` merges it into the object as the node
 * knows it (merge.ts) -> what changed (difference.ts) joins what waits of that object (entry.ts, shelf.ts) -> on disk ->
 * the answer is the merged object.
 *
 * The link is back: `replay` sends a patch for each object and then events one by one (send.ts). An entry goes when the
 * API server has answered; one that it will never take is logged, counted and dropped.
 */
export { Journal } from './journal.ts';
export type { WriteRequest } from './journaled-write.ts';
