/**
 * Authorization. The hub never decides itself what a client may read: it asks the API server with the client's own
 * token (access.ts, SelfSubjectAccessReview) and remembers the decisions on disk (decisions.ts), so that they still
 * apply while no API server is reachable.
 *
 * Only reads of shared views need this. Everything else reaches the API server with the client's credentials, or comes
 * from a view that was read with them.
 */
export { Access } from './access.ts';
