/**
 * What routers are told: hosts with their routes, upstreams with their endpoints, certificates. Plain data, never changed
 * once made, without a trace of who carries the bytes. `compile/` makes it of objects; `match/` says what it means.
 */

/** In lower case, without port and trailing dot: `a.example.com`; `*.example.com` is one label more; `` is all hosts. */
export type HostName = string;

/** All that is known of one host. */
export interface HostRoutes {
  readonly host: HostName;
  /** The namespace that the host belongs to: others can not add to it. Of all hosts together everybody may. */
  readonly namespace: string;
  /** The first that matches is taken. */
  readonly routes: readonly Route[];
  /** For requests that no route matches; without it the table of all hosts is asked, and after that the answer is 404. */
  readonly fallback?: RouteAction;
  /** Plain HTTP is sent to https. */
  readonly redirectToHttps?: boolean;
}

export interface Route {
  /** Begins with a slash; of a Prefix, without one at the end unless it is all of it. */
  readonly path: string;
  readonly match: 'Exact' | 'Prefix';
  /** All must match. Ingresses have none. */
  readonly headers: readonly HeaderMatch[];
  readonly action: RouteAction;
}

export interface HeaderMatch {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** Where requests go, and how. */
export interface RouteAction {
  readonly backends: readonly WeightedUpstream[];
  readonly limits: Limits;
  readonly source: Source;
}

export interface WeightedUpstream {
  readonly upstream: UpstreamId;
  readonly weight: number;
}

/** Absent: the router's own. */
export interface Limits {
  readonly connectTimeoutMs?: number;
  readonly readTimeoutMs?: number;
  /** Zero: no limit. */
  readonly maxBodyBytes?: number;
}

/** What somebody wrote that led to this, for logs, metrics and explanations. */
export interface Source {
  readonly kind: 'Ingress';
  readonly namespace: string;
  readonly name: string;
  /** Of the rule and of the path in it; -1 for a default backend. */
  readonly rule: number;
  readonly path: number;
}

/**
 * `<namespace>_<service>_<port>`; the port as the Ingress names it. What is asked for beyond the ordinary follows:
 * `_https` or `_grpc`, `_leastConnections`. `<namespace>__` is the one of backends that are no Services.
 */
export type UpstreamId = string;

export interface Upstream {
  readonly id: UpstreamId;
  readonly namespace: string;
  readonly service: string;
  readonly protocol: 'http' | 'https' | 'grpc';
  readonly balance: 'roundRobin' | 'leastConnections';
  /** In a stable order. Without any the answer is 503, and `problem` says why. */
  readonly endpoints: readonly Endpoint[];
  readonly problem?: 'noService' | 'noPort' | 'noEndpoints' | 'notSupported';
}

export interface Endpoint {
  /** An IP address, or a DNS name of an ExternalName Service. */
  readonly address: string;
  readonly port: number;
}

/** For the hosts that it is to be shown for; `` is who asks for none of them. */
export interface Certificate {
  readonly host: HostName;
  /** `<namespace>/<name>` of the Secret. */
  readonly secret: string;
  /** PEM, the chain. */
  readonly certificate: string;
  readonly key: string;
  /** Of the content: equal fingerprints are equal certificates. */
  readonly fingerprint: string;
}

export interface Changes<K, V> {
  readonly set: readonly V[];
  readonly remove: readonly K[];
}

/**
 * What happened from one generation to the next. From 0 it is the whole state: whatever is not in it is gone. A upstream
 * that routes name is always there, in the same delta or before it.
 */
export interface Delta {
  readonly from: number;
  readonly to: number;
  readonly hosts: Changes<HostName, HostRoutes>;
  readonly upstreams: Changes<UpstreamId, Upstream>;
  readonly certificates: Changes<HostName, Certificate>;
}
