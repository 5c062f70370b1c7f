/**
 * Authentication: finds out which client sent a request, from proof alone. A User-Agent or any other claim never counts.
 *
 *   authenticator.ts: a client certificate, then a bearer token, then the unix socket of the node, then anonymous
 *     -> signing-keys.ts verifies service account tokens with the keys of the cluster, which are kept on disk
 *     -> token-memory.ts remembers which tokens the API server accepted and rejected, for when it is unreachable
 *   identity.ts is the result. Everything that the hub stores is bound to `Identity.key`; credential.ts says with which
 *   credentials a request of that identity continues upstream.
 */
export { Authenticator, type Entrance } from './authenticator.ts';
export { credentialOf } from './credential.ts';
export { type AnonymousIdentity, type BearerIdentity, type Identity, nodeUser } from './identity.ts';
export type { Memory } from './memory.ts';
export { usernameOf } from './service-account-token.ts';
