import { type Ingress, keyOf } from '@tidegate/kube';
import { SSL_REDIRECT_ANNOTATION } from '../../api/index.ts';
import type { PolicyAt } from '../attached-policies/index.ts';
import { wildcardOf, writtenHost } from '../match/index.ts';
import type { HostName, Route, RouteAction, Source } from '../model.ts';
import { NGINX_PREFIX } from '../nginx-annotations/index.ts';
import {
  type BackendTls,
  credentialsReference,
  DEFAULT_BACKEND_TLS,
  type RoutePolicy,
  wwwCounterpart,
} from '../policy/index.ts';
import { annotationField, type IngressOptions, readAnnotations } from './annotations.ts';
import { closedUpstream, errorReference, externalReference, upstreamReference } from './backend.ts';
import type { HostAsks, HostClaim, IngressFacts, TlsEntry, Wanted } from './facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';
import { PathReader } from './path-reader.ts';
import { isRegex, pathsOf } from './written-path.ts';

/**
 * How many hosts an Ingress can have. Each becomes a HostClaim and a host of a router. An object of the API server has room
 * for tens of thousands. Admission rejects more; routers and the manager leave out the rest.
 */
const MOST_HOSTS = 1_000;

/** How many paths an Ingress can have. Each path is a route that requests are compared with. */
export const MOST_PATHS = 5_000;

/**
 * The size of the policies of an Ingress in JSON, for all of its paths together. Each route has its policies, in routers and in the
 * tables that they store.
 */
const MOST_POLICY_CHARACTERS = 16_000_000;

/** How many aliases an Ingress can have. Each gets all paths of the first host. */
export const MOST_ALIASES = 30;

/** What the class of an Ingress sets. */
export interface ClassSettings {
  /** Annotations of Ingresses that do not have them. */
  readonly defaults?: Readonly<Record<string, string>>;
  /** The headers that Ingresses can add to responses, in lower case. */
  readonly allowedHeaders?: readonly string[];
}
type Aged = Pick<IngressFacts, 'key' | 'created'>;

/** The oldest first. Creation times have a resolution of one second, so equal times are ordered by name. */
export const compareAge = (a: Aged, b: Aged): number =>
  a.created - b.created || (a.key < b.key ? -1 : Number(a.key !== b.key));

/**
 * Parses an Ingress, with the policies that it inherits, the outermost first, and with what its class sets. Invalid parts are left
 * out and reported as problems. The hosts do not depend on policies.
 */
export function readIngress(
  ingress: Ingress,
  attached: readonly PolicyAt[] = [],
  ofClass: ClassSettings = {},
): IngressFacts {
  return new Reading(ingress, attached, ofClass).facts();
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
  /** How many paths have been read, also invalid ones. */
  #paths = 0;
  readonly #reader: PathReader;
  /** A path beyond the limit of regular expressions has been reported. */
  #isRegexReported = false;
  readonly #asks: HostAsks;

  constructor(ingress: Ingress, attached: readonly PolicyAt[], { defaults, allowedHeaders }: ClassSettings) {
    this.#ingress = ingress;
    const { namespace = '', name = '', annotations, creationTimestamp } = ingress.metadata;
    const owner = { namespace, name, ...(allowedHeaders && { allowedHeaders }) };
    const options = readAnnotations(annotations, owner, attached, defaults);
    // A path that is not served would be open in another Ingress.
    const reader = new PathReader(options);
    this.#reader = reader;
    const isUnclear =
      options.policies.guards &&
      (pathsOf(ingress).length > MOST_PATHS ||
        (ingress.spec?.rules ?? []).some((rule) => reader.hasWrong(rule)));
    const characters = JSON.stringify(options.policies.route ?? {}).length * pathsOf(ingress).length;
    const isTooLarge = characters > MOST_POLICY_CHARACTERS;
    this.#options = isUnclear || isTooLarge ? { ...options, closes: true } : options;
    this.#asks = this.#asksOf();
    this.#problems = [...this.#options.problems, ...(isTooLarge ? [tooLargePolicies(characters)] : [])];
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
    this.#readAliases();
    this.#readCounterparts();
    const entries = tls.slice(0, MOST_HOSTS).flatMap((entry, index) => this.#readTls(entry, index));
    for (let index = MOST_HOSTS; index < tls.length; index++) this.#leaveOut(tls[index]!, index);
    this.#noteTls(tls);
    this.#reportLeftOut();
    const credentials = this.#credentials();
    return {
      ...this.#identity,
      claims: this.#claims,
      tls: entries,
      credentials,
      problems: this.#problems,
      origins: this.#options.origins,
    };
  }

  #credentials(): IngressFacts['credentials'] {
    const { basic, clientCertificate, customHeaders, externalAuth } = this.#options.policies.route ?? {};
    if (this.#options.closes) return [];
    const named = [
      { id: basic?.credentials, name: 'auth-secret', section: 'basicAuth' },
      { id: clientCertificate?.credentials, name: 'auth-tls-secret', section: 'clientCertificate' },
      { id: this.#backendTls()?.credentials, name: 'proxy-ssl-secret', section: 'backendTls' },
      { id: customHeaders?.credentials, name: 'custom-headers', section: '' },
      { id: externalAuth?.headers, name: 'auth-proxy-set-headers', section: '' },
    ];
    return named.flatMap(({ id, name, section }) => {
      const field = this.#options.secretFields.get(section) ?? annotationField(NGINX_PREFIX + name);
      return id === undefined ? [] : [{ ...credentialsReference(id), field }];
    });
  }

  /** Without TLS, annotations about it have no effect. */
  #backendTls(): BackendTls | undefined {
    const { protocol, policies } = this.#options;
    if (protocol === 'grpcs') return policies.backendTls ?? DEFAULT_BACKEND_TLS;
    return protocol === 'https' ? policies.backendTls : undefined;
  }

  #readRule(rule: Rule, index: number): void {
    const field = `spec.rules[${index}]`;
    const host = this.#readHost(rule.host ?? '', `${field}.host`);
    if (host === undefined) return;
    const claim = this.#claim(host, `${field}.host`);
    if (claim === undefined) return;
    claim.byRule = true;
    const paths = rule.http?.paths ?? [];
    const room = Math.max(0, MOST_PATHS - this.#paths);
    paths.slice(0, room).forEach((path, at) => {
      const route = this.#readPath(host, path, { rule: index, path: at }, `${field}.http.paths[${at}]`);
      if (route !== undefined) claim.routes.push(route);
    });
    if (this.#paths <= MOST_PATHS && this.#paths + paths.length > MOST_PATHS) {
      const message = `An Ingress can have ${MOST_PATHS} paths. This one and all that follow are not served: write them in other Ingresses.`;
      this.#problems.push(ingressProblem('TooManyPaths', `${field}.http.paths[${room}]`, message));
    }
    this.#paths += paths.length;
  }

  #readPath(
    host: HostName,
    { path = '', pathType, backend }: Path,
    at: { rule: number; path: number },
    field: string,
  ): Wanted<Route> | undefined {
    const { read, wrong, isTooMany } = this.#reader.read({ path, pathType }, host);
    if (read === undefined) {
      const reason = isTooMany ? 'TooManyPaths' : 'InvalidPath';
      if (!isTooMany || !this.#isRegexReported)
        this.#problems.push(ingressProblem(reason, `${field}.path`, wrong));
      this.#isRegexReported ||= isTooMany === true;
      return undefined;
    }
    const { rewrite, ...route } = read;
    const { value: action, ...rest } = this.#readBackend(backend, at, `${field}.backend`, rewrite);
    return { ...rest, field: `${field}.path`, value: { ...route, headers: [], action } };
  }

  #readBackend(
    backend: Backend | undefined,
    at: Pick<Source, 'rule' | 'path'>,
    field: string,
    rewrite?: RoutePolicy['rewrite'],
  ): Wanted<RouteAction> {
    const { namespace } = this.#identity;
    const { closes, closesRoutes, policies, limits, protocol, balance } = this.#options;
    const isOpen = !closes && !closesRoutes;
    const tls = this.#backendTls();
    if (isOpen && backend?.service === undefined) {
      const message = `Only Services are supported as backends${backend?.resource ? `, not ${backend.resource.kind}` : ''}. Requests get the response 503.`;
      this.#problems.push(ingressProblem('ResourceBackend', field, message));
    }
    // A backend with an unsupported protocol is treated like one that is not a Service.
    const reached = protocol === undefined ? undefined : backend;
    const upstream = isOpen
      ? upstreamReference(namespace, reached, {
          protocol: protocol === 'grpcs' ? 'grpc' : (protocol ?? 'http'),
          ...(tls && { tls }),
          balance,
          ...(policies.usesAddress && { usesAddress: true }),
        })
      : closedUpstream(namespace);
    const named = policies.errors && errorReference(namespace, policies.errors.service);
    const errors = named && {
      upstream: named.id,
      statuses: policies.errors?.statuses ?? [],
      about: { namespace, ingress: `${this.#ingress.metadata.name}` },
    };
    const policy = { ...policies.route, ...(rewrite && { rewrite }), ...(errors && { errors }) };
    const value = {
      backends: [{ upstream: upstream.id, weight: 1 }],
      limits,
      ...(isOpen && Object.keys(policy).length > 0 && { policy }),
      source: this.#source(at),
    };
    const servers = policies.servers.map((each) => externalReference(namespace, each));
    const others = isOpen ? [...servers, ...(named ? [named] : [])] : [];
    return { value, field, upstream, backendField: field, ...(others.length > 0 && { others }) };
  }

  #source(at: Pick<Source, 'rule' | 'path'>): Source {
    const { namespace } = this.#identity;
    return { kind: 'Ingress', namespace, name: `${this.#ingress.metadata.name}`, ...at };
  }

  /** Aliases get the routes of the first host of the Ingress. */
  #readAliases(): void {
    const field = annotationField(`${NGINX_PREFIX}server-alias`);
    const [first] = [...this.#claims].filter(
      ([host, { byRule, isLeftOut }]) => host !== '' && byRule && !isLeftOut,
    );
    const { aliases } = this.#options.policies;
    const size = Math.max(1, first?.[1].routes.length ?? 0);
    const free = Math.max(0, MOST_PATHS - this.#paths);
    const room = Math.min(MOST_ALIASES, Math.floor(free / size));
    if (aliases.length > room) {
      const message = `An Ingress can have ${MOST_ALIASES} aliases, and ${MOST_PATHS} paths; each alias has all paths of the first host. ${aliases.length - room} aliases exceed this, and are not served: use fewer aliases or paths, or other Ingresses.`;
      this.#problems.push(ingressProblem('TooManyHosts', field, message));
    }
    for (const [at, written] of aliases.entries()) {
      const isWithin = at < room;
      // What must not be served openly is closed for every host, also beyond the limit.
      if (!isWithin && !this.#options.policies.guards && !this.#options.closes) break;
      const host = isWithin ? this.#readHost(written, field) : writtenHost(written);
      if (host === undefined || first === undefined || this.#claims.has(host)) continue;
      if (!isWithin) {
        this.#closeAlias(host, field);
        continue;
      }
      const claim = this.#claim(host, field);
      const { routes, fallback, redirectToHttps, asks } = first[1];
      if (claim === undefined) continue;
      Object.assign(claim, { byRule: true, routes, redirectToHttps, asks: { ...asks, yields: true } });
      if (fallback !== undefined) claim.fallback = fallback;
    }
  }

  /** An alias beyond the limit, of an Ingress that restricts access. */
  #closeAlias(host: HostName, field: string): void {
    const claim = this.#claim(host, field) ?? this.#claims.get(host);
    if (claim !== undefined) Object.assign(claim, { closesHost: true, isLeftOut: true });
  }

  /** The names with or without `www.` of all hosts, if the Ingress redirects them. */
  #readCounterparts(): void {
    const { fromToWww } = this.#options.policies;
    if (!fromToWww || this.#options.closes) return;
    for (const [host, { byRule, isLeftOut, field }] of [...this.#claims]) {
      const counterpart = byRule && !isLeftOut ? wwwCounterpart(host) : undefined;
      if (counterpart === undefined || this.#claims.has(counterpart.host)) continue;
      const claim = this.#claim(counterpart.host, field);
      if (claim === undefined) continue;
      const upstream = closedUpstream(this.#identity.namespace);
      const value = {
        backends: [{ upstream: upstream.id, weight: 1 }],
        limits: {},
        policy: { redirect: counterpart.redirect },
        source: this.#source({ rule: -1, path: -1 }),
      };
      claim.byRule = true;
      claim.fallback = { value, field, upstream, backendField: field };
      claim.asks = { ...claim.asks, ...REDIRECT_ONLY };
    }
  }

  /** Notes which hosts have TLS. An entry without hosts is for all hosts that its certificate has. */
  #noteTls(tls: readonly { hosts?: string[] }[]): void {
    const isForAll = tls.some(({ hosts = [] }) => hosts.length === 0);
    const named = new Set(tls.flatMap(({ hosts = [] }) => hosts.map((host) => writtenHost(host))));
    for (const [host, claim] of this.#claims) {
      const hasTls = isForAll || named.has(host) || named.has(wildcardOf(host));
      if (hasTls) claim.asks = { ...claim.asks, hasTls };
    }
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
    if (this.#options.redirectToHttps) {
      for (const [host, claim] of this.#claims) claim.redirectToHttps = host !== '';
      this.#reportShared(SSL_REDIRECT_ANNOTATION);
    }
    if (this.#options.policies.appRoot !== undefined) this.#reportShared(`${NGINX_PREFIX}app-root`);
  }

  #reportShared(annotation: string): void {
    if (!this.#claims.has('')) return;
    const message = `${annotation} applies only to rules with a host. Rules without a host are shared with other namespaces.`;
    this.#problems.push(ingressProblem('InvalidAnnotation', annotationField(annotation), message));
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
      asks: this.#asks,
      closesHost: this.#options.closes,
      isLeftOut,
    };
    // What must not be served openly is closed for every host, also beyond the limit.
    if (!isLeftOut || claim.closesHost) this.#claims.set(host, claim);
    return isLeftOut ? undefined : claim;
  }

  #asksOf(): HostAsks {
    const { secure, appRoot, canary, route, handshake } = this.#options.policies;
    const { clientCertificate } = route ?? {};
    const regex = pathsOf(this.#ingress).some((path) => isRegex(path, this.#options));
    return { hasTls: false, secure, regex, appRoot, canary, clientCertificate, handshake, yields: false };
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

/** What a host that is only redirected does not take from its counterpart. */
const REDIRECT_ONLY = { regex: false, appRoot: undefined, clientCertificate: undefined, yields: true };

const tooLargePolicies = (characters: number): IngressProblem =>
  ingressProblem(
    'TooManyPaths',
    'spec.rules',
    `The annotations and policies of the Ingress apply to each of its paths, which takes ${characters} characters in routers, the limit is ${MOST_POLICY_CHARACTERS}. All requests for its hosts get the response 503: use shorter lists, or fewer paths, for example of type Prefix.`,
  );
