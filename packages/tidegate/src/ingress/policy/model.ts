import { isDeepStrictEqual } from 'node:util';
import type { Affinity } from './affinity.ts';
import type { BasicAuth } from './basic.ts';
import type { ClientCertificate } from './client-certificate.ts';
import type { Cors } from './cors.ts';
import type { Errors } from './errors.ts';
import type { ExternalAuth } from './external-auth.ts';
import type { HashBy } from './hashing.ts';
import type { HeaderSet } from './header-sets.ts';
import type { Limit, Throttle } from './limit.ts';
import type { Mirror } from './mirror.ts';
import type { Redirect } from './redirect.ts';
import type { Responses } from './responses.ts';
import type { Rewrite } from './rewrite.ts';
import type { Sources } from './sources.ts';

/** The policies of a route, in the order in which they apply. A route without policies has none of this. */
export interface RoutePolicy {
  /** Answer with a redirect. Applies before all others, as in ingress-nginx. */
  readonly redirect?: Redirect;
  /** Redirect requests over plain HTTP to HTTPS. */
  readonly secure?: true;
  /** Applies before all others to requests over HTTPS: ingress-nginx checks it before it looks at a request. */
  readonly clientCertificate?: ClientCertificate;
  /** Headers of every response. Without the ConfigMap, the status is 503. */
  readonly customHeaders?: HeaderSet;
  /** Answers preflight requests of browsers. As in ingress-nginx, they need no authentication. */
  readonly cors?: Cors;
  readonly sources?: Sources;
  readonly basic?: BasicAuth;
  readonly externalAuth?: ExternalAuth;
  /** A client that the allow list has, or that authenticates in one way, is served. Otherwise all are needed. */
  readonly satisfyAny?: true;
  readonly limit?: Limit;
  /**
   * The Ingress of the route, `namespace/name`: its routes share the limit. Only with `limit` and with a cache of answers, which
   * other Ingresses do not use.
   */
  readonly zone?: string;
  readonly throttle?: Throttle;
  readonly rewrite?: Rewrite;
  readonly affinity?: Affinity;
  /** Only without `affinity`. */
  readonly hashBy?: HashBy;
  /** The header Host that endpoints get. */
  readonly vhost?: string;
  readonly responses?: Responses;
  readonly mirror?: Mirror;
  readonly errors?: Errors;
  /** Requests are not in the access log. */
  readonly unlogged?: true;
}

/** The policies that limit which requests a route serves. */
const GUARDS = [
  'clientCertificate',
  'sources',
  'basic',
  'externalAuth',
  'satisfyAny',
  'limit',
] as const satisfies readonly (keyof RoutePolicy)[];

/** Whether the route does not serve every request. Other spellings of its path must not reach another route. */
export const isGuarded = (policy: RoutePolicy | undefined): boolean =>
  policy !== undefined && GUARDS.some((name) => policy[name] !== undefined);

/** Whether two routes limit requests in the same way. */
export const hasSameGuards = (a: RoutePolicy | undefined, b: RoutePolicy | undefined): boolean =>
  GUARDS.every((name) => a?.[name] === b?.[name] || isDeepStrictEqual(a?.[name], b?.[name]));
