/**
 * The matching rules of the route model. This is the reference implementation: every data plane must give the same
 * results, which tests verify. Pure.
 *
 * For a request:
 *   1. `requestHost` and `requestPath` normalize the host and check the path. Invalid requests get 400.
 *   2. The exact host is looked up, then its wildcard.
 *   3. The routes of the host are tried in order. The first whose path and headers match wins, then the default backend.
 *   4. Without a match, step 3 is repeated with the rules for all hosts, then the response is 404. If the host or a
 *      wildcard above it has an owner, only the rules of its owner count.
 *
 * Then `decide` applies the policies of the route: it may answer the request, or change what the backend gets.
 */

export { certificateAnswer, clientCertificateFor, handshakeFor } from './client-certificate.ts';
export * from './decide.ts';
export * from './host.ts';
export * from './match.ts';
export * from './path.ts';
export * from './path-readings.ts';
export * from './table.ts';
