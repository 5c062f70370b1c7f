import type { Route, RouteAction } from '../model.ts';
import { allowedOrigin, isAllowed, locationOf, type RoutePolicy, rewritten } from '../policy/index.ts';
import { encodePath, hasControl, requestPath } from './path.ts';

/** A request that has a route. */
export interface RoutedRequest {
  /** IP address of the client. */
  readonly client: string;
  readonly secure: boolean;
  /** Where the host is reached over HTTPS, with a port if it is not 443. Default: the name. */
  readonly secureAuthority?: string;
  /** The name of the host, and the Host header as the client sent it. */
  readonly name: string;
  readonly authority: string;
  /** Path and query as the client sent them. */
  readonly target: string;
  /** The path that was compared with the route. */
  readonly path: string;
  /** Default: GET. */
  readonly method?: string;
  /** The header Origin. */
  readonly origin?: string | undefined;
}

/** How a client must authenticate. With `satisfyAny`, one way suffices. */
export type Authentication = Pick<RoutePolicy, 'basic' | 'externalAuth' | 'satisfyAny'>;

/** What the policies of a route make of a request. */
export type Decision =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly location?: string;
      /** The reason in words, if the status can have several. */
      readonly why?: string;
    }
  /** Path and query for the backend. */
  | {
      readonly kind: 'forward';
      readonly target: string;
      readonly isRewritten: boolean;
      /** The value of the header X-Forwarded-Prefix. */
      readonly prefix?: string;
      /** Only if the client authenticates. The data plane checks this. */
      readonly authentication?: Authentication;
    };

/** Applies the policies of a route. All data planes give the same result; `policy.lua` is the same for nginx. */
export function decide(
  { action, route }: { action: RouteAction; route?: Route },
  request: RoutedRequest,
): Decision {
  const { redirect, secure, cors, rewrite } = action.policy ?? {};
  const { target } = request;
  if (redirect !== undefined)
    return { kind: 'answer', status: redirect.status, location: locationOf(redirect, request) };
  if (secure && !request.secure)
    return {
      kind: 'answer',
      status: 308,
      location: `https://${request.secureAuthority ?? request.name}${target}`,
    };
  if (cors !== undefined && request.method === 'OPTIONS' && allowedOrigin(cors, request.origin) !== undefined)
    return { kind: 'answer', status: 204 };
  const access = accessOf(action.policy ?? {}, request.client);
  if (access === 'refused') return { kind: 'answer', status: 403 };
  if (rewrite === undefined || route?.pattern === undefined)
    return { kind: 'forward', target, isRewritten: false, ...access };
  const at = target.indexOf('?');
  const [path, query] = at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)];
  const { target: result, prefix } = rewritten(rewrite, route.pattern, {
    matched: request.path,
    query,
    // Only a decoded path differs from the path that the client sent.
    encode: path === request.path ? (text) => text : encodePath,
  });
  // A path may get dot segments by the rewrite. nginx cannot send a changed path with control characters with gRPC.
  if (requestPath(result) === undefined || hasControl(result)) return { kind: 'answer', status: 400 };
  return {
    kind: 'forward',
    target: result,
    isRewritten: true,
    ...(prefix !== undefined && { prefix }),
    ...access,
  };
}

/** Whether the address of the client suffices, must be followed by authentication, or is refused. */
function accessOf(
  { sources, basic, externalAuth, satisfyAny }: RoutePolicy,
  client: string,
): 'refused' | { authentication?: Authentication } {
  const isListed = sources === undefined || isAllowed(sources, client);
  const authentication =
    basic === undefined && externalAuth === undefined
      ? undefined
      : { ...(basic && { basic }), ...(externalAuth && { externalAuth }), ...(satisfyAny && { satisfyAny }) };
  if (authentication === undefined) return isListed ? {} : 'refused';
  // As in nginx, an address that no list has satisfies nothing, and one that is denied can authenticate.
  if (satisfyAny)
    return isListed && sources !== undefined && sources.allow.length > 0 ? {} : { authentication };
  return isListed ? { authentication } : 'refused';
}
