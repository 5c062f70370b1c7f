/** Short constructors of parts of the route model. */

import type { KeyPair } from '@tidegate/kube/certificates';
import type {
  Certificate,
  Delta,
  HeaderMatch,
  HostRoutes,
  Limits,
  Route,
  RouteAction,
  Upstream,
} from '../../../packages/tidegate/src/ingress/model.ts';
import type { RoutePolicy } from '../../../packages/tidegate/src/ingress/policy/index.ts';

export const action = (upstreams: string | Record<string, number>, limits: Limits = {}): RouteAction => ({
  backends:
    typeof upstreams === 'string'
      ? [{ upstream: upstreams, weight: 1 }]
      : Object.entries(upstreams).map(([upstream, weight]) => ({ upstream, weight })),
  limits,
  source: { kind: 'Ingress', namespace: 'shop', name: 'web', rule: 0, path: 0 },
});

export const route = (
  path: string,
  upstreams: string | Record<string, number>,
  more: Partial<Pick<Route, 'match' | 'pattern'>> & {
    headers?: HeaderMatch[];
    limits?: Limits;
    policy?: RoutePolicy;
  } = {},
): Route => ({
  path,
  match: more.match ?? 'Prefix',
  ...(more.pattern && { pattern: more.pattern }),
  headers: more.headers ?? [],
  action: { ...action(upstreams, more.limits), ...(more.policy && { policy: more.policy }) },
});

export const host = (name: string, routes: string | Route[], more: Partial<HostRoutes> = {}): HostRoutes => ({
  host: name,
  namespace: name === '' ? '' : 'shop',
  routes: typeof routes === 'string' ? [route('/', routes)] : routes,
  ...more,
});

/** An upstream with endpoints at these loopback ports. */
export const upstream = (id: string, ports: readonly number[], more: Partial<Upstream> = {}): Upstream => ({
  id,
  namespace: 'shop',
  service: id,
  protocol: 'http',
  balance: 'roundRobin',
  endpoints: ports.map((port) => ({ address: '127.0.0.1', port })),
  ...(ports.length === 0 && { problem: 'noEndpoints' as const }),
  ...more,
});

let made = 0;
export const certificate = (name: string, pair: KeyPair): Certificate => ({
  host: name,
  secret: 'shop/tls',
  ...pair,
  fingerprint: `fingerprint-${++made}`,
});

/** The content of a delta. `without` lists what is removed. */
export interface Change {
  hosts?: HostRoutes[];
  upstreams?: Upstream[];
  certificates?: Certificate[];
  without?: { hosts?: string[]; upstreams?: string[]; certificates?: string[] };
}

export const delta = (from: number, to: number, change: Change): Delta => ({
  from,
  to,
  hosts: { set: change.hosts ?? [], remove: change.without?.hosts ?? [] },
  upstreams: { set: change.upstreams ?? [], remove: change.without?.upstreams ?? [] },
  certificates: { set: change.certificates ?? [], remove: change.without?.certificates ?? [] },
});
