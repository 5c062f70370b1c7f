/**
 * Answers made in the hub, as an API server would give them: lists and watches of a projection, single objects, and
 * refusals. Bytes go from the view to the socket; only other forms than the object's own JSON are decoded.
 *
 *   a watch: watch.ts waits until the projection is as new as the client (fresh.ts) -> the state or the history it asks
 *   for, then every event as frames (frames.ts) that all watches share -> outbox.ts, at the pace of the client.
 */
export { answerList } from './list.ts';
export { answerObject } from './object.ts';
export { answerStatus } from './status.ts';
export { answerUpstreamList } from './upstream-list.ts';
export { answerWatch } from './watch.ts';
