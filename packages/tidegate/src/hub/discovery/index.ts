/**
 * Discovery: `/version`, `/api`, `/apis` and below, OpenAPI, and the signing keys of service account tokens. This folder
 * keeps copies of these documents, so that clients that start offline can find the resources of the cluster.
 *
 * One request: `DiscoveryCache.serve` asks an API server with the credentials of the client and the ETag of the copy that
 * matches its Accept header (documents.ts, variants.ts). A 304 response means that the copy is current, and the client
 * gets it. A 200 response replaces the copy. Any other response is passed on. If no API server is reachable, an
 * authenticated client gets the copy, or 503 if there is none.
 */
export { DiscoveryCache } from './cache.ts';
