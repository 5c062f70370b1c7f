/**
 * The authenticated client. Everything that the hub stores for a client is bound to `key`, which never
 * depends on unverified claims, for example the User-Agent.
 */
export type Identity = NodeIdentity | BearerIdentity | AnonymousIdentity;

/**
 * The node itself: a client with the node's client certificate, or one that connects to the unix socket,
 * which only root may open. The hub forwards its requests with the credentials of the node.
 */
export interface NodeIdentity {
  readonly kind: 'node';
  readonly key: 'node';
}

/** A client with a bearer token. The hub forwards its requests with that token. */
export interface BearerIdentity {
  readonly kind: 'bearer';
  /** `sa:<namespace>:<name>:<uid>` if the cluster has signed the token, otherwise `token:<sha256>`. */
  readonly key: string;
  readonly token: string;
}

/** A client without credentials. The API server decides what it may do; offline, it may do nothing. */
export interface AnonymousIdentity {
  readonly kind: 'anonymous';
  readonly key: 'anonymous';
}

/** The username of a node at the API server. */
export const nodeUser = (nodeName: string): string => `system:node:${nodeName}`;
