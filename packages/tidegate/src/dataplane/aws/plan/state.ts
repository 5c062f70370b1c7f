import type { HostName } from '../../../ingress/model.ts';

/**
 * What an Application Load Balancer (ALB) should have. Everything is identified by what it means, not by the ARNs of AWS:
 * those are known only after creation.
 */

export type ListenerName = 'http' | 'https';

/** The upstream that a target group is for. Saved in a tag of the target group. */
export type GroupId = string;

/**
 * Which requests a rule is for. Rules are tried in the order of `compareKeys`, so the order of two keys never changes,
 * whatever else is on the load balancer.
 *
 * - `own`: a path of the host itself.
 * - `shared`: a path of the rules without a host, for a host whose owner also owns these rules.
 * - `rest`: all other requests of the host.
 */
export interface RuleKey {
  readonly section: 'own' | 'shared' | 'rest';
  /** `**.example.com` stands for hosts with at least two labels more than `example.com`. Empty: all hosts. */
  readonly host: HostName;
  /** Empty in the section `rest`. */
  readonly path: string;
  readonly match: 'Exact' | 'Prefix';
}

/** Values of `host-header` and `path-pattern`. One of the values of each must match; without values, all requests do. */
export interface Conditions {
  readonly hosts: readonly string[];
  readonly paths: readonly string[];
}

export type RuleAction =
  | { readonly kind: 'forward'; readonly groups: readonly WeightedGroup[] }
  /** To the same URL over HTTPS. */
  | { readonly kind: 'redirect' }
  | { readonly kind: 'respond'; readonly status: 404 | 503 };

export interface WeightedGroup {
  readonly group: GroupId;
  readonly weight: number;
}

export interface Rule {
  readonly key: RuleKey;
  readonly action: RuleAction;
}

export interface Target {
  readonly address: string;
  readonly port: number;
}

export interface HealthCheck {
  readonly path: string;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  /** Status codes of healthy targets, for example `200-399`. */
  readonly codes: string;
}

/** A target group: the endpoints of one upstream. AWS does not change protocol and address family, so the ID has them. */
export interface TargetGroup {
  readonly id: GroupId;
  readonly protocol: 'HTTP' | 'HTTPS';
  readonly family: 'ipv4' | 'ipv6';
  readonly algorithm: 'round_robin' | 'least_outstanding_requests';
  readonly health: HealthCheck;
  /** In the order of `compareTargets`. */
  readonly targets: readonly Target[];
}

/** Names of certificates, see `certificateName`. */
export interface ListenerCertificates {
  readonly default: string;
  /** Sorted. */
  readonly sni: readonly string[];
}

export interface WantedListener {
  readonly certificates?: ListenerCertificates;
  /** Response to requests that no rule is for: 503 if not all hosts fit. */
  readonly fallback: 404 | 503;
  /** In the order of `compareKeys`. */
  readonly rules: readonly Rule[];
}

/** What a load balancer should have. */
export interface Wanted {
  readonly groups: ReadonlyMap<GroupId, TargetGroup>;
  readonly listeners: ReadonlyMap<ListenerName, WantedListener>;
  readonly certificates: ReadonlySet<string>;
}

/** Quotas of AWS for one load balancer. Administrators can have larger ones. */
export interface Quotas {
  /** All listeners together, without their default rules. */
  readonly rules: number;
  /** Without default certificates. */
  readonly certificates: number;
  readonly groups: number;
  readonly targets: number;
}

export const PUBLISHED_QUOTAS: Quotas = { rules: 100, certificates: 25, groups: 100, targets: 1_000 };
