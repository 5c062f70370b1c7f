/**
 * What a route does besides forwarding: typed policies, which are data of the route model. Each policy has a file with its
 * type, how it is read from annotations of ingress-nginx, and what it means for a request:
 *
 * - `sources.ts`: which clients may use a route, by their address;
 * - `affinity.ts`: a cookie that keeps a client at an endpoint;
 * - `backend-tls.ts`: certificates and settings of connections to endpoints over TLS;
 * - `basic.ts`: user names and passwords;
 * - `errors.ts`: another backend for errors;
 * - `external-auth.ts`, `auth-cache.ts`: another server that decides about each request;
 * - `canary.ts`: which requests go to another backend;
 * - `client-certificate.ts`: certificates of clients, and their issuers;
 * - `combine.ts`: guards of several levels: a class, a namespace, an Ingress;
 * - `cors.ts`: which other sites may use a route from a browser;
 * - `header-sets.ts`: headers in ConfigMaps, for clients and for servers that authenticate them;
 * - `hashing.ts`: a key whose requests get the same endpoint;
 * - `handshake.ts`: ciphers of TLS connections of clients;
 * - `limit.ts`: how many requests a client may send, and how fast it gets responses;
 * - `forwarding.ts`: timeouts of endpoints, and when a request is sent to another one;
 * - `mirror.ts`: a copy of each request for another server;
 * - `external-server.ts`, `url-template.ts`: URLs in annotations, and the servers that they name;
 * - `redirect.ts`: redirects to other URLs, to HTTPS, between a host and its `www.` name, and to the root of an application;
 * - `responses.ts`: other hosts and paths in redirects and cookies of endpoints;
 * - `rewrite.ts`: another path and host for the backend, with groups of the regular expression of the route.
 *
 * An Ingress has `whitelist-source-range: 10.0.0.0/8`. `read.ts` returns a policy with one network, the compiler adds it to
 * each route of the Ingress, and `../match/decide.ts` answers a request of another client with 403. nginx gets the same data
 * and decides with `policy.lua`. Text of an annotation never becomes configuration: it is parsed completely, or refused. If a
 * policy that protects something cannot be read, the hosts of the Ingress are closed; see `../nginx-annotations`.
 */

export { type Affinity, endpointKey, setCookie } from './affinity.ts';
export { PolicyReader } from './annotation-reader.ts';
export { keptSeconds, MOST_KEPT_SECONDS } from './auth-cache.ts';
export { type BackendTls, DEFAULT_BACKEND_TLS, describeBackendTls, readBackendTls } from './backend-tls.ts';
export { type CredentialsReference, credentialsReference, readBasic } from './basic.ts';
export {
  type Canary,
  cookieOf,
  describeCanary,
  isForCanary,
} from './canary.ts';
export {
  authoritiesSecret,
  type ClientCertificate,
  MOST_SUBJECT_CHARACTERS,
  readClientCertificate,
  subjectMatches,
} from './client-certificate.ts';
export { type CombinedGuards, combineGuards, type GuardLevel } from './combine.ts';
export { allowedOrigin } from './cors.ts';
export { describePolicy } from './describe.ts';
export { type Errors, errorHeaders } from './errors.ts';
export type { ExternalAuth } from './external-auth.ts';
export type { ExternalServer } from './external-server.ts';
export {
  describeForwarding,
  type Forwarding,
  RETRIED_STATUSES,
  type Retry,
  retries,
} from './forwarding.ts';
export { describeHandshake, type Handshake, joinedHandshake } from './handshake.ts';
export { fillKey, fromRing, hashOf, type Ring, ringOf } from './hashing.ts';
export {
  InvalidHeadersError,
  readAllowedHeaders,
  readAuthHeaders,
  readHeaders,
} from './header-sets.ts';
export { throttleMs } from './limit.ts';
export type { Mirror } from './mirror.ts';
export { hasSameGuards, isGuarded, type RoutePolicy } from './model.ts';
export { type Effect, type IngressPolicies, type PolicyOwner, readPolicies } from './read.ts';
export { locationOf, wwwCounterpart } from './redirect.ts';
export { rewriteResponse } from './responses.ts';
export { groupsOf, rewritten } from './rewrite.ts';
export { isAllowed, isIn } from './sources.ts';
export { fillUrl, type UrlFacts } from './url-template.ts';
