/** Who asks, as far as it is proved. What is remembered is bound to `key`, and never to what a caller says of itself. */
export type Identity = NodeIdentity | BearerIdentity | AnonymousIdentity;

/** This very node: its client certificate, or the socket that only root may open. Goes on with the node's credentials. */
export interface NodeIdentity {
  readonly kind: 'node';
  readonly key: 'node';
}

/** Whoever holds a token. Goes on with that token. */
export interface BearerIdentity {
  readonly kind: 'bearer';
  /** `sa:<namespace>:<name>:<uid>` when the cluster's keys have signed the token, `token:<sha256>` otherwise. */
  readonly key: string;
  readonly token: string;
}

export interface AnonymousIdentity {
  readonly kind: 'anonymous';
  readonly key: 'anonymous';
}

/** How the API server calls a node. */
export const nodeUser = (nodeName: string): string => `system:node:${nodeName}`;
