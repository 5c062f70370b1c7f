import { type Ingress, keyOf } from '@tidegate/kube';
import { SSL_REDIRECT_ANNOTATION } from '../../api/index.ts';
import { writtenHost, writtenPath } from '../match/index.ts';
import type { HostName, Route, RouteAction, Source } from '../model.ts';
import { annotationField, type IngressOptions, readAnnotations } from './annotations.ts';
import { closedUpstream, type UpstreamReference, upstreamReference } from './backend.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/** One Ingress in terms of the route model, before any other object is considered. */
export interface IngressFacts {
  readonly key: string;
  readonly namespace: string;
  /** Creation time in milliseconds since the epoch. In a conflict, the older Ingress wins. */
  readonly created: number;
  readonly claims: ReadonlyMap<HostName, HostClaim>;
  readonly tls: readonly TlsEntry[];
  readonly problems: readonly IngressProblem[];
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
  /** Nothing of the host is served in this namespace; see IngressOptions. */
  readonly closesHost: boolean;
  /** The Ingress names too many hosts, and only closes this one: it does not want to own it, and has no routes for it. */
  readonly isLeftOut: boolean;
}

/** A requested route or default backend, the upstream that it needs, and the fields of both. */
export interface Wanted<T> {
  readonly value: T;
  readonly field: string;
  readonly upstream: UpstreamReference;
  readonly backendField: string;
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

/**
 * How many hosts an Ingress can have. Each becomes a HostClaim and a host of a router. An object of the API server has room
 * for tens of thousands. Admission rejects more; routers and the manager leave out the rest.
 */
const MOST_HOSTS = 1_000;

/** A path with one of these means something else as a regular expression. A dot does not count: it matches itself too. */
const REGEX_CHARACTER = /[\\^$*+?()[\]{}|]/;

type Aged = Pick<IngressFacts, 'key' | 'created'>;

/** The oldest first. Creation times have a resolution of one second, so equal times are ordered by name. */
export const compareAge = (a: Aged, b: Aged): number =>
  a.created - b.created || (a.key < b.key ? -1 : Number(a.key !== b.key));

/** Parses an Ingress. Invalid parts are left out and reported as problems. */
export function readIngress(ingress: Ingress): IngressFacts {
  return new Reading(ingress).facts();
}

type Backend = Parameters<typeof upstreamReference>[1] & { resource?: { kind: string; name: string } };
type Rule = NonNullable<NonNullable<Ingress['spec']>['rules']>[number];
type Path = NonNullable<Rule['http']>['paths'][number];

/** A claim under construction. */
type Draft = { -readonly [K in keyof HostClaim]: HostClaim[K] } & { routes: Wanted<Route>[] };

class Reading {
  readonly #ingress: Ingress;
  readonly #options: IngressOptions;
  readonly #identity: HostClaim['ingress'];
  readonly #claims = new Map<HostName, Draft>();
  readonly #problems: IngressProblem[];
  /** The fields with hosts beyond the limit. */
  readonly #leftOut = new Set<string>();

  constructor(ingress: Ingress) {
    this.#ingress = ingress;
    this.#options = readAnnotations(ingress.metadata.annotations);
    this.#problems = [...this.#options.problems];
    const { namespace = '', creationTimestamp } = ingress.metadata;
    const created = Date.parse(creationTimestamp ?? '');
    // An Ingress that is not stored yet, for example one from a file, is younger than all others.
    this.#identity = {
      key: keyOf(ingress),
      namespace,
      created: Number.isNaN(created) ? Number.MAX_SAFE_INTEGER : created,
    };
  }

  facts(): IngressFacts {
    const { rules = [], tls = [] } = this.#ingress.spec ?? {};
    rules.forEach((rule, index) => {
      this.#readRule(rule, index);
    });
    this.#readDefaultBackend();
    this.#readRedirect();
    const entries = tls.slice(0, MOST_HOSTS).flatMap((entry, index) => this.#readTls(entry, index));
    for (let index = MOST_HOSTS; index < tls.length; index++) this.#leaveOut(tls[index]!, index);
    this.#reportLeftOut();
    return { ...this.#identity, claims: this.#claims, tls: entries, problems: this.#problems };
  }

  #readRule(rule: Rule, index: number): void {
    const field = `spec.rules[${index}]`;
    const host = this.#readHost(rule.host ?? '', `${field}.host`);
    if (host === undefined) return;
    const claim = this.#claim(host, `${field}.host`);
    if (claim === undefined) return;
    claim.byRule = true;
    rule.http?.paths?.forEach((path, at) => {
      const route = this.#readPath(path, { rule: index, path: at }, `${field}.http.paths[${at}]`);
      if (route !== undefined) claim.routes.push(route);
    });
  }

  #readPath(
    { path = '', pathType, backend }: Path,
    at: { rule: number; path: number },
    field: string,
  ): Wanted<Route> | undefined {
    // ImplementationSpecific is treated as Prefix.
    const match = pathType === 'Exact' ? 'Exact' : 'Prefix';
    const written = writtenPath(path, match);
    const isRegex = this.#options.hasRegexPaths && REGEX_CHARACTER.test(path);
    if (written === undefined || isRegex) {
      const shown = JSON.stringify(path.slice(0, 100));
      const message =
        written === undefined
          ? `No request can match the path ${shown}: write a percent-encoded path that starts with a slash and has no query and no dot segments.`
          : `The path ${shown} is a regular expression, because the Ingress has the annotation use-regex or rewrite-target. Tidegate does not support regular expressions, and does not serve the path: write paths of type Prefix or Exact without such characters.`;
      this.#problems.push(ingressProblem('InvalidPath', `${field}.path`, message));
      return undefined;
    }
    const { value: action, ...rest } = this.#readBackend(backend, at, `${field}.backend`);
    return { ...rest, field: `${field}.path`, value: { path: written, match, headers: [], action } };
  }

  #readBackend(
    backend: Backend | undefined,
    at: Pick<Source, 'rule' | 'path'>,
    field: string,
  ): Wanted<RouteAction> {
    const { namespace } = this.#identity;
    const isOpen = !this.#options.closes;
    if (isOpen && backend?.service === undefined) {
      const message = `Only Services are supported as backends${backend?.resource ? `, not ${backend.resource.kind}` : ''}. Requests get the response 503.`;
      this.#problems.push(ingressProblem('ResourceBackend', field, message));
    }
    const upstream = isOpen
      ? upstreamReference(namespace, backend, this.#options)
      : closedUpstream(namespace);
    const source: Source = { kind: 'Ingress', namespace, name: `${this.#ingress.metadata.name}`, ...at };
    const value = { backends: [{ upstream: upstream.id, weight: 1 }], limits: this.#options.limits, source };
    return { value, field, upstream, backendField: field };
  }

  /** The default backend applies to the hosts of the rules, or to all hosts if the Ingress has no rules. */
  #readDefaultBackend(): void {
    const { defaultBackend, rules = [] } = this.#ingress.spec ?? {};
    if (defaultBackend === undefined) return;
    const fallback = this.#readBackend(defaultBackend, { rule: -1, path: -1 }, 'spec.defaultBackend');
    const all = rules.length === 0 ? this.#claim('', 'spec.defaultBackend') : undefined;
    if (all !== undefined) all.byRule = true;
    for (const claim of this.#claims.values()) if (!claim.isLeftOut) claim.fallback = fallback;
  }

  /** A redirect applies only to named hosts: rules for all hosts are shared by all namespaces. */
  #readRedirect(): void {
    if (!this.#options.redirectToHttps) return;
    for (const [host, claim] of this.#claims) claim.redirectToHttps = host !== '';
    if (!this.#claims.has('')) return;
    const message = `${SSL_REDIRECT_ANNOTATION} applies only to rules with a host. Rules without a host are shared with other namespaces.`;
    this.#problems.push(
      ingressProblem('InvalidAnnotation', annotationField(SSL_REDIRECT_ANNOTATION), message),
    );
  }

  /** A host that only `tls` names is claimed too, so that another namespace cannot take it. */
  #readTls(entry: { hosts?: string[]; secretName?: string }, index: number): TlsEntry[] {
    const field = `spec.tls[${index}]`;
    const written = entry.hosts ?? [];
    const hosts = written.flatMap((each, at) => {
      const host = each === '' ? undefined : this.#readHost(each, `${field}.hosts[${at}]`);
      const claim = host === undefined ? undefined : this.#claim(host, `${field}.hosts[${at}]`);
      return host === undefined || claim === undefined ? [] : [host];
    });
    if (entry.secretName === undefined || entry.secretName === '') return [];
    const secret = `${this.#identity.namespace}/${entry.secretName}`;
    return [{ secret, field: `${field}.secretName`, hosts, named: written.length > 0 }];
  }

  #readHost(written: string, field: string): HostName | undefined {
    const host = writtenHost(written);
    if (host === undefined) {
      const message = `${JSON.stringify(written.slice(0, 100))} is not a valid host name: write, for example, shop.example.com or *.example.com.`;
      this.#problems.push(ingressProblem('InvalidHost', field, message));
    }
    return host;
  }

  /** Undefined if the host is left out. */
  #claim(host: HostName, field: string): Draft | undefined {
    const known = this.#claims.get(host);
    const isLeftOut = known?.isLeftOut ?? this.#claims.size >= MOST_HOSTS;
    if (isLeftOut) this.#leftOut.add(field);
    const claim = known ?? {
      ingress: this.#identity,
      field,
      byRule: false,
      routes: [],
      redirectToHttps: false,
      closesHost: this.#options.closes,
      isLeftOut,
    };
    // What must not be served openly is closed for every host, also beyond the limit.
    if (!isLeftOut || claim.closesHost) this.#claims.set(host, claim);
    return isLeftOut ? undefined : claim;
  }

  /** An entry of `tls` beyond the limit. Its Secret is not read. */
  #leaveOut({ hosts = [] }: { hosts?: string[] }, index: number): void {
    const field = `spec.tls[${index}]`;
    this.#leftOut.add(field);
    if (!this.#options.closes) return;
    for (const written of hosts) {
      const host = writtenHost(written);
      if (host !== undefined && host !== '') this.#claim(host, field);
    }
  }

  #reportLeftOut(): void {
    const [first] = this.#leftOut;
    if (first === undefined) return;
    const message = `An Ingress can have ${MOST_HOSTS} hosts, and as many entries of spec.tls. ${this.#leftOut.size} fields exceed this, and are ignored: write them in other Ingresses.`;
    this.#problems.push(ingressProblem('TooManyHosts', first, message));
  }
}
