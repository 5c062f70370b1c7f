/**
 * What there is in the cluster: `/version`, `/api`, `/apis` and below, OpenAPI, the keys of its tokens. This folder
 * owns the copies of these documents, which let clients that start offline find their way.
 *
 * One request: `DiscoveryCache.serve` asks an API server under the name of the client, with the ETag of the copy that
 * suits its Accept (documents, variants) -> 304: the copy is the answer; 200: the copy is replaced; anything else goes
 * back as it is -> no API server: the copy, for whoever has proved who they are, or 503.
 */
export { DiscoveryCache } from './cache.ts';
