/**
 * What a node writes while no API server is reachable: the status of the node and of its pods, its lease, and events.
 * The journal keeps these writes on disk and replays them when an API server is reachable again.
 *
 * A write: journaled-write.ts decides whether the journal takes it (`takes`) -> journal.ts merges it into the object as
 * the node knows it -> what changed (difference.ts) joins the entry of that object (entry.ts, shelf.ts), or becomes an
 * event entry (event.ts) -> the entry is flushed to disk -> the client gets the merged object.
 *
 * An API server is reachable again: replayer.ts starts `Journal.replay`, which sends one patch per object, then the events
 * in order (send.ts). An entry is deleted when the API server has answered; an entry that it will never accept is logged,
 * counted and dropped.
 */
export { Journal } from './journal.ts';
export { Replayer } from './replayer.ts';
