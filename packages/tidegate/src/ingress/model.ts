/**
 * The route model, the input of a data plane: hosts with their routes, upstreams with their endpoints, certificates. It
 * is plain immutable data and does not depend on a data plane. `compile/` creates it from Kubernetes objects; `match/`
 * defines what it means for a request.
 */

import type { ClientSettings } from './clients/model.ts';
import type { BackendTls, Canary, Forwarding, Handshake, RoutePolicy } from './policy/index.ts';
import type { Pattern } from './regex/index.ts';

/**
 * A host name in lower case, without a port and without a trailing dot: `a.example.com`. The wildcard `*.example.com`
 * covers exactly one more label. The empty name means all hosts: rules of Ingresses that name no host.
 */
export type HostName = string;

/** The routes of one host. */
export interface HostRoutes {
  readonly host: HostName;
  /**
   * Namespace that owns the host: Ingresses of other namespaces cannot add routes to it, and their rules without a host do
   * not apply to it. Empty for the empty host name, which several namespaces use.
   */
  readonly namespace: string;
  /** In order of precedence: the first route that matches wins. Can be empty: the host is owned, but has no routes here. */
  readonly routes: readonly Route[];
  /**
   * For requests that no route matches: the default backend. Without it, the routes of the empty host name that come
   * from the owner of the host are tried, then the response is 404.
   */
  readonly fallback?: RouteAction;
  /** Redirect requests over plain HTTP to HTTPS. */
  readonly redirectToHttps?: boolean;
  /** Redirect requests for `/` to this path. */
  readonly appRoot?: string;
  /** Settings of TLS handshakes for the host. */
  readonly handshake?: Handshake;
  /**
   * A route does not serve every client. Other spellings of its path must not reach another route: the path of a request is
   * compared a second time, as backends read it.
   */
  readonly guarded?: true;
  /** The response is 200 over plain HTTP: the name proves which router this is. Only where routers share a data plane. */
  readonly isIdentity?: true;
  /** For metrics and the access log: which router the section is for. Only where routers share a data plane. */
  readonly section?: { readonly className: string; readonly router: string };
  /** What the class says about clients. Only in the entry `CLIENTS_ENTRY`. */
  readonly clients?: ClientSettings;
}

export interface Route {
  /** Starts with a slash. A Prefix does not end with a slash, except for the path `/` itself. A Regex is as written. */
  readonly path: string;
  readonly match: 'Exact' | 'Prefix' | 'Regex';
  /** Only for a Regex: the compiled expression. */
  readonly pattern?: Pattern;
  /** All of them must match. Routes of an Ingress have none. */
  readonly headers: readonly HeaderMatch[];
  readonly action: RouteAction;
}

export interface HeaderMatch {
  /** In lower case. */
  readonly name: string;
  /** Compared byte for byte. */
  readonly value: string;
}

/** Where a data plane sends a request, and with which limits. */
export interface RouteAction {
  readonly backends: readonly WeightedUpstream[];
  readonly limits: Limits;
  /** Absent if the route has none: data planes then have nothing to do. */
  readonly policy?: RoutePolicy;
  readonly source: Source;
}

export interface WeightedUpstream {
  readonly upstream: UpstreamId;
  /**
   * Share of the requests relative to the other backends. For an Ingress, 1 for the backend of the path, and 0 for a canary.
   */
  readonly weight: number;
  /** Requests for which this holds go to this upstream, if it has endpoints. Only the last backend can have it. */
  readonly canary?: Canary;
}

/** Limits of one route. If a field is absent, the default of the router applies. */
export interface Limits extends Forwarding {
  readonly connectTimeoutMs?: number;
  readonly readTimeoutMs?: number;
  /** 0 means no limit. */
  readonly maxBodyBytes?: number;
}

/** The object and field that a route comes from. Used in logs, metrics and `tidegate trace`. */
export interface Source {
  readonly kind: 'Ingress';
  readonly namespace: string;
  readonly name: string;
  /** Index of the rule, and of the path in the rule. Both are -1 for a default backend. */
  readonly rule: number;
  readonly path: number;
}

/**
 * `<namespace>_<service>_<port>`, with the port as the Ingress names it, followed by settings that differ from the
 * defaults: `_https` or `_grpc`, `_tls` with a hash of its settings, then `_leastConnections`, then `_address` for the address of the Service. `<namespace>__` is the upstream of backends that are not
 * Services, `<namespace>__closed` that of routes that are not served because they could not be protected.
 */
export type UpstreamId = string;

/** The endpoints behind a route, and how to connect to them. */
export interface Upstream {
  readonly id: UpstreamId;
  readonly namespace: string;
  readonly service: string;
  readonly protocol: 'http' | 'https' | 'grpc';
  /** Settings of the connections over TLS. With `grpc`, connections use TLS only if it is present. */
  readonly tls?: BackendTls;
  /** `ewma`: of two random endpoints, the one that has answered faster of late. */
  readonly balance: 'roundRobin' | 'leastConnections' | 'ewma';
  /** The endpoint is the address of the Service. A Service without an address has its endpoints nevertheless. */
  readonly usesAddress?: true;
  /** In a stable order. If there are none, the response is 503 and `problem` is the reason. */
  readonly endpoints: readonly Endpoint[];
  readonly problem?: 'noService' | 'noPort' | 'noEndpoints' | 'notSupported' | 'closed';
}

export interface Endpoint {
  /** An IP address, or a DNS name of an ExternalName Service. */
  readonly address: string;
  readonly port: number;
}

/**
 * A server certificate. The empty host is for clients whose server name (SNI) matches no other certificate. If certificate
 * and key are empty, clients of the host get the certificate of the router: the wildcard above the host belongs to another
 * namespace, whose certificate must not be used for it.
 */
export interface Certificate {
  readonly host: HostName;
  /** `<namespace>/<name>` of the Secret. */
  readonly secret: string;
  /** The certificate chain in PEM, the server certificate first. */
  readonly certificate: string;
  /** The private key in PEM (PKCS #8). */
  readonly key: string;
  /** Hash of certificate and key: equal fingerprints mean equal content. */
  readonly fingerprint: string;
}

/**
 * What the clients of a route are authenticated with: the users or the authorities of a Secret. A route names it by its ID;
 * without an entry, the response is 503.
 */
export interface Credentials {
  /**
   * `<namespace>/<name>` of the Secret, followed by `#map` if its keys are the names of the users, by `#ca` if it has
   * authorities, or by `#client` or `#client-ca` if it is for connections to endpoints.
   * For headers: `<namespace>/<name>` of the ConfigMap, followed by `#auth-headers`, or by `#headers=` and the allowed names.
   */
  readonly id: string;
  /** Hashes of the passwords by name, in the formats of `passwords/formats.ts`. */
  readonly users: Readonly<Record<string, string>>;
  /** The issuers of client certificates. Then there are no users. */
  readonly authorities?: Authorities;
  /** For connections to endpoints. Then there are no users. */
  readonly client?: ClientPair;
  /** For responses, or for servers that authenticate clients. Then there are no users. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the router shows to endpoints, and what it checks them with, in PEM. */
export interface ClientPair {
  readonly certificate?: string;
  readonly key?: string;
  readonly authorities?: string;
}

/** Certificate authorities and their lists of revoked certificates, each in PEM. */
export interface Authorities {
  readonly certificates: readonly string[];
  readonly revoked: readonly string[];
}

/** A difference between two states of a map. A key is in at most one of both lists. */
export interface Changes<K, V> {
  readonly set: readonly V[];
  readonly remove: readonly K[];
}

/**
 * The difference between two generations of the routes. A generation is a number that the compiler increases with each
 * change; a data plane can apply a delta only if it is at generation `from`. A delta with `from: 0` is the complete
 * state and replaces everything.
 *
 * An upstream that a route names is in the same delta or in an earlier one, so a data plane never sees a route to an
 * upstream that it does not know.
 */
export interface Delta {
  readonly from: number;
  readonly to: number;
  readonly hosts: Changes<HostName, HostRoutes>;
  readonly upstreams: Changes<UpstreamId, Upstream>;
  readonly certificates: Changes<HostName, Certificate>;
  /** Absent if nothing has changed; in a complete state, if there are none. */
  readonly credentials?: Changes<string, Credentials>;
}
