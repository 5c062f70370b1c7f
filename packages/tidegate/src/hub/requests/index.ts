/**
 * What happens to a request after authentication.
 *
 *   call.ts: the request with its identity -> dispatcher.ts decides what kind of request it is
 *     -> reads.ts for gets, lists and watches. representation.ts chooses the form of the answer, read-options.ts parses
 *        the query, then shared-reads.ts serves resources that one watch brings for the whole node
 *        (shared-resources.ts), and private-reads.ts serves what one identity reads for itself
 *     -> writes.ts for everything else. recent-writes.ts lets a client read its own writes from a shared resource
 *     -> forwarding.ts sends a request to the API server, for either of them or unchanged
 *     -> answer-shares.ts limits the responses that wait in memory until their client reads them
 *     -> watch-shares.ts limits what the watches of one client may use
 *     -> forbidden.ts deletes the copies and permissions that a 403 concerns
 *   failures.ts turns errors into the Status objects of an API server.
 */
export { AnswerShares } from './answer-shares.ts';
export { type ChainFor, componentOf } from './call.ts';
export { decodeBody } from './decode-body.ts';
export { RequestDispatcher } from './dispatcher.ts';
export { refusalOf } from './failures.ts';
export { forgetForbidden } from './forbidden.ts';
export { Forwarding } from './forwarding.ts';
export { PrivateReads } from './private-reads.ts';
export { Reads } from './reads.ts';
export { RecentWrites } from './recent-writes.ts';
export { SharedReads } from './shared-reads.ts';
export { WatchShares } from './watch-shares.ts';
export { Writes } from './writes.ts';
