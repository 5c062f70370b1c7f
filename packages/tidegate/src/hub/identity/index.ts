/**
 * Authentication: determines which client sent a request, from credentials alone. The User-Agent and other claims of the
 * client are never used.
 *
 *   authenticator.ts: a client certificate, then a bearer token, then the unix socket of the node, then anonymous
 *     -> signing-keys.ts verifies service account tokens with the keys of the cluster, which are stored on disk
 *     -> token-memory.ts remembers which tokens the API server accepted and rejected, for when it is unreachable
 *   identity.ts is the result. Everything that the hub stores is bound to `Identity.key`; credential.ts selects the
 *   credentials with which a request of that identity is forwarded.
 */
export { Authenticator, type Entrance } from './authenticator.ts';
export { credentialOf } from './credential.ts';
export { type AnonymousIdentity, type BearerIdentity, type Identity, nodeUser } from './identity.ts';
export type { Memory } from './memory.ts';
export { usernameOf } from './service-account-token.ts';
