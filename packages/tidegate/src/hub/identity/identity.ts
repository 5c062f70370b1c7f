import type { ServiceAccountClaims } from './service-account-token.ts';

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
  /** Identifies the token: by what the cluster has signed, otherwise by its text. Two tokens never have the same key. */
  readonly tokenKey: string;
  /** The claims, if the hub has verified the token as a service account token. */
  readonly claims?: ServiceAccountClaims;
  /** Finds the peer that has sent the token; see Connections. Nothing is known about the sender of an invented token but this. */
  readonly peer: () => Promise<string>;
}

/** A client without credentials. The API server decides what it may do; offline, it may do nothing. */
export interface AnonymousIdentity {
  readonly kind: 'anonymous';
  readonly key: 'anonymous';
}

/** The username of a node at the API server. */
export const nodeUser = (nodeName: string): string => `system:node:${nodeName}`;
