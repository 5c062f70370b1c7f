/**
 * The journal keeps what a node writes while no API server is reachable (the status of the node and of its pods, its
 * lease, and events) and replays it when an API server is reachable again.
 *
 * A write:
 *   1. journaled-write.ts decides whether the journal accepts it (`Journal.takes`).
 *   2. journal.ts applies it to the object as the node knows it.
 *   3. The change (difference.ts) is added to the entry of that object (entry.ts, shelf.ts), or becomes an event entry
 *      (event.ts).
 *   4. The entry is flushed to disk, and the client gets the merged object.
 *
 * A replay, when an API server is reachable again: replayer.ts calls `Journal.replay`, which sends one patch per object,
 * then the events in order (send.ts). An entry is deleted when the API server has answered. An entry that the API server
 * will never accept is logged, counted and dropped.
 */
export { Journal } from './journal.ts';
export { type WriteRequest, written } from './journaled-write.ts';
export { Replayer } from './replayer.ts';
