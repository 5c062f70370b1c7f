/**
 * Responses that the hub creates itself, in the format of an API server: lists and watches of a projection, single objects,
 * and errors. The bytes of objects go from the view to the socket unchanged; objects are decoded only for other formats
 * than JSON and for requests of metadata only (forms.ts).
 *
 * A watch: watch.ts waits until the projection is as new as the client requires (fresh.ts), sends the initial state or the
 * events that the client has missed, and then every new event. frames.ts encodes each event once for all watches. outbox.ts
 * sends the frames as fast as the client reads them, and disconnects a client that is too slow.
 */
export { answerList } from './list.ts';
export { answerObject } from './object.ts';
export { answerStatus } from './status.ts';
export { answerUpstreamList } from './upstream-list.ts';
export { answerWatch } from './watch.ts';
