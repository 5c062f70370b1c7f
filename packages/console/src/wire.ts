/**
 * What the server of `tidegate console` sends to the browser. Types only: both sides import them, and neither gets code of the
 * other. Objects of the API are reduced to rows, so that a cluster with 10,000 nodes is a few megabytes.
 */

/** The status of a condition. */
export type Tristate = 'True' | 'False' | 'Unknown';

export interface NodeRow {
  kind: 'Node';
  key: string;
  nodePool?: string;
  nodeGroup?: string;
  ready: Tristate;
  /** When `ready` became what it is (RFC 3339). */
  since?: string;
  /** Version of the hub on the node. */
  hub?: string;
  address?: string;
}

export interface PoolRow {
  kind: 'NodePool' | 'NodeGroup';
  key: string;
  type?: string;
  /** What decides which nodes join, in words; for example labels. */
  members?: string;
}

/** A front door: the router of a pool, or of the whole cluster. */
export interface RouterRow {
  kind: 'L7Router';
  key: string;
  ingressClass: string;
  pool?: string;
  driver: string;
  ready: Tristate;
  message?: string;
  addresses: string[];
  /** Hosts that were placed on it. Undefined: all hosts of its classes. */
  hosts?: string[];
  maxHosts?: number;
  problems: number;
}

/** The link between a node and the cloud, which the embedded cluster can cut. */
export interface LinkRow {
  kind: 'Link';
  /** Name of the node. */
  key: string;
  cut: boolean;
}

export type Row = NodeRow | PoolRow | RouterRow | LinkRow;
export type RowKind = Row['kind'];

/** The first message of a stream. What follows replaces all rows of earlier streams. */
export interface Hello {
  version: string;
  /** URL of the API server. */
  server: string;
  /** The state directory if the cluster is an embedded one. */
  embedded?: string;
}

/** Names a row. */
export interface RowId {
  kind: RowKind;
  key: string;
}

export interface Change {
  put?: Row[];
  drop?: RowId[];
}

/** How well the server follows a kind: `live`, `loading`, or what is wrong. */
export interface SourceState {
  kind: RowKind;
  state: 'live' | 'loading' | 'failed';
  message?: string;
}

/** The names of the events of the stream, with their data. */
export interface StreamEvents {
  hello: Hello;
  change: Change;
  sources: SourceState[];
}

/** One line of the stream: the name of the event and its data. Empty lines only show that the connection is alive. */
export type StreamMessage = {
  [E in keyof StreamEvents]: [event: E, data: StreamEvents[E]];
}[keyof StreamEvents];
