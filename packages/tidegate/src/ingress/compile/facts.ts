import type { PolicyOrigin } from '../attached-policies/index.ts';
import type { HostName, Route, RouteAction } from '../model.ts';
import type {
  Canary,
  ClientCertificate,
  CredentialsReference,
  Handshake,
  IngressPolicies,
} from '../policy/index.ts';
import type { UpstreamReference } from './backend.ts';
import type { IngressProblem } from './ingress-problem.ts';

/** One Ingress in terms of the route model, before any other object is considered. */
export interface IngressFacts {
  readonly key: string;
  readonly namespace: string;
  /** Creation time in milliseconds since the epoch. In a conflict, the older Ingress wins. */
  readonly created: number;
  readonly claims: ReadonlyMap<HostName, HostClaim>;
  readonly tls: readonly TlsEntry[];
  /** The Secrets with users or authorities, the ConfigMaps with headers, and the field that names them. */
  readonly credentials: readonly (CredentialsReference & { readonly field: string })[];
  readonly problems: readonly IngressProblem[];
  /** The RoutePolicies and ClusterRoutePolicies that apply, the outermost first. */
  readonly origins: readonly PolicyOrigin[];
}

/** The routes that one Ingress wants to add to one host. */
export interface HostClaim {
  readonly ingress: Pick<IngressFacts, 'key' | 'namespace' | 'created'>;
  /** The field that names the host: in a rule, or only in `tls`. */
  readonly field: string;
  /** A rule names the host, or a default backend applies to all hosts. False if only `tls` names it. */
  readonly byRule: boolean;
  readonly routes: readonly Wanted<Route>[];
  readonly fallback?: Wanted<RouteAction>;
  readonly redirectToHttps: boolean;
  /** What the Ingress asks for on the whole host. */
  readonly asks: HostAsks;
  /** Nothing of the host is served in this namespace; see IngressOptions. */
  readonly closesHost: boolean;
  /** The Ingress names too many hosts, and only closes this one: it does not want to own it, and has no routes for it. */
  readonly isLeftOut: boolean;
}

/** What annotations of an Ingress ask for on each of its hosts. Other Ingresses of the host are affected too. */
export interface HostAsks {
  /** `spec.tls` has the host, or the wildcard above it. */
  readonly hasTls: boolean;
  /** Routes of the Ingress are redirected to HTTPS. */
  readonly secure: IngressPolicies['secure'];
  /** All paths of the host are regular expressions. */
  readonly regex: boolean;
  readonly appRoot: string | undefined;
  /** The routes are not served on their own: they get some requests of the same paths of another Ingress. */
  readonly canary: Canary | undefined;
  /** Routes of other Ingresses of the host need it too. */
  readonly clientCertificate: ClientCertificate | undefined;
  readonly handshake: Handshake | undefined;
  /** No rule names the host: it is an alias, or only redirected. Rules of any Ingress for the host win. */
  readonly yields: boolean;
}

/** A requested route or default backend, the upstream that it needs, and the fields of both. */
export interface Wanted<T> {
  readonly value: T;
  readonly field: string;
  readonly upstream: UpstreamReference;
  readonly backendField: string;
  /** Upstreams that the policies need. */
  readonly others?: readonly UpstreamReference[];
}

/** One entry of `spec.tls` with a Secret. */
export interface TlsEntry {
  /** `namespace/name` of the Secret. */
  readonly secret: string;
  readonly field: string;
  /** The valid hosts of the entry. */
  readonly hosts: readonly HostName[];
  /** Whether the entry lists hosts. If not, the DNS names in the certificate are used. */
  readonly named: boolean;
}

/** What one Ingress got of a host. */
export interface Share {
  /** The routes and default backends that are served. */
  readonly served: readonly Wanted<unknown>[];
  /** Conflicts with other Ingresses, or a missing claim. */
  readonly problems: readonly IngressProblem[];
}
