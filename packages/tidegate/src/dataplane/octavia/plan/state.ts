import type { HostName } from '../../../ingress/model.ts';

/**
 * What a load balancer of Octavia has. The same types describe what exists and what is wanted. Everything is identified
 * by what it means (a backend, a rule and path), not by the IDs of Octavia: those are known only after creation.
 */

export type ListenerName = 'http' | 'https';

/** The backend that a pool of Octavia stands for, see `poolNameOf`. Saved in a tag of the pool. */
export type BackendId = string;

/**
 * Which requests a policy is for. Policies are tried in the order of `compareKeys`, so the order of two keys never
 * changes, whatever else is on the load balancer.
 *
 * - `redirect`: all requests of a host, sent to HTTPS.
 * - `own`: a path of the host itself.
 * - `shared`: a path of the rules without a host, for a host whose owner also owns these rules.
 * - `rest`: all other requests of the host.
 */
export interface PolicyKey {
  readonly section: 'redirect' | 'own' | 'shared' | 'rest';
  /** `**.example.com` stands for hosts with at least two labels more than `example.com`. */
  readonly host: HostName;
  /** Empty in the sections without a path. */
  readonly path: string;
  readonly match: 'Exact' | 'Prefix';
}

/** A rule of a policy, as Octavia stores it. All rules of a policy must match. */
export interface Rule {
  readonly type: 'HOST_NAME' | 'PATH';
  readonly compare_type: 'EQUAL_TO' | 'STARTS_WITH' | 'REGEX';
  readonly value: string;
}

/** Where a policy sends requests: to a pool of Octavia, or to the same URL below this prefix. */
export type PolicyTarget = { readonly backend: BackendId } | { readonly redirectPrefix: string };

export interface Policy {
  readonly key: PolicyKey;
  readonly target: PolicyTarget;
}

export interface Member {
  readonly address: string;
  readonly port: number;
  readonly weight: number;
}

export interface HealthMonitor {
  readonly type: 'TCP' | 'HTTP';
  readonly delay: number;
  readonly timeout: number;
  readonly retries: number;
  /** Only for HTTP. */
  readonly path?: string;
}

/** A pool of Octavia: the endpoints of one backend. */
export interface Backend {
  readonly id: BackendId;
  /** `<namespace>_<service>`, as Kuryr names it. Not unique: a Service can have several ports. */
  readonly name: string;
  readonly algorithm: 'ROUND_ROBIN' | 'LEAST_CONNECTIONS';
  /** Connect to members over TLS. */
  readonly tls: boolean;
  /** In the order of `compareMembers`. */
  readonly members: readonly Member[];
  readonly monitor?: HealthMonitor;
}

/** Names of certificates in the certificate store. */
export interface ListenerCertificates {
  readonly default: string;
  /** Sorted. */
  readonly sni: readonly string[];
}

export interface ListenerSettings {
  readonly port: number;
  /** Milliseconds. */
  readonly connectTimeoutMs: number;
  readonly readTimeoutMs: number;
  /** CIDRs that may connect. Empty: all. */
  readonly allowedCidrs: readonly string[];
}

/** What a load balancer should have. */
export interface Wanted {
  readonly backends: ReadonlyMap<BackendId, Backend>;
  readonly listeners: ReadonlyMap<ListenerName, WantedListener>;
  /** Names of certificates that the store must have. */
  readonly certificates: ReadonlySet<string>;
}

export interface WantedListener {
  readonly settings: ListenerSettings;
  readonly certificates?: ListenerCertificates;
  /** In the order of `compareKeys`. */
  readonly policies: readonly Policy[];
}

/** What a load balancer has, as far as this program uses it. */
export interface Observed {
  readonly backends: readonly ObservedBackend[];
  readonly listeners: readonly ObservedListener[];
  /** Names of certificates of this router in the store. */
  readonly certificates: readonly string[];
}

export interface ObservedBackend extends Omit<Backend, 'monitor'> {
  /** ID of the pool of Octavia. */
  readonly pool: string;
  readonly monitor?: HealthMonitor & { readonly monitorId: string };
}

export interface ObservedListener {
  readonly listener: string;
  /** Undefined if the listener has another port or protocol than those of Tidegate. */
  readonly name: ListenerName | undefined;
  readonly enabled: boolean;
  readonly settings: ListenerSettings;
  readonly certificates?: ListenerCertificates;
  /** The backend for requests that no policy is for. */
  readonly fallback: BackendId | undefined;
  /** In the order of their positions. */
  readonly policies: readonly ObservedPolicy[];
}

export interface ObservedPolicy {
  readonly policy: string;
  /** Undefined if the policy does not come from Tidegate. */
  readonly key: PolicyKey | undefined;
  readonly target: PolicyTarget | undefined;
  readonly enabled: boolean;
  /** Their number, or the rules themselves if the policy is not complete: an earlier run may have stopped in between. */
  readonly rules: number | readonly Rule[];
}

/** All requests that no policy is for. Without members, the response is 503. */
export const NOT_FOUND_BACKEND: BackendId = '*not-found';

export const EMPTY: Observed = { backends: [], listeners: [], certificates: [] };
