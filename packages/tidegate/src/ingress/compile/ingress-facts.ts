import { type Ingress, keyOf } from '@tidegate/kube';
import { SSL_REDIRECT_ANNOTATION } from '../../api/index.ts';
import { writtenHost, writtenPath } from '../match/index.ts';
import type { HostName, Route, RouteAction, Source } from '../model.ts';
import { annotationField, readAnnotations, type Wishes } from './annotations.ts';
import { type UpstreamReference, upstreamReference } from './backend.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/** All that an Ingress says, in the words of the route model, without having looked at anything else. */
export interface IngressFacts {
  readonly key: string;
  readonly namespace: string;
  /** Milliseconds; whoever was first has the better claim. */
  readonly created: number;
  readonly claims: ReadonlyMap<HostName, HostClaim>;
  readonly tls: readonly TlsEntry[];
  readonly problems: readonly IngressProblem[];
}

/** What an Ingress wants of one host. */
export interface HostClaim {
  readonly ingress: Pick<IngressFacts, 'key' | 'namespace' | 'created'>;
  /** Where the host is written: in a rule, or only in `tls`. */
  readonly field: string;
  readonly byRule: boolean;
  readonly routes: readonly Wanted<Route>[];
  readonly fallback?: Wanted<RouteAction>;
  readonly redirectToHttps: boolean;
}

/** Something to be served, and the upstream it needs; and where both are written. */
export interface Wanted<T> {
  readonly value: T;
  readonly field: string;
  readonly upstream: UpstreamReference;
  readonly backendField: string;
}

export interface TlsEntry {
  /** `namespace/name` of the Secret. */
  readonly secret: string;
  readonly field: string;
  /** Those that were written; without any, the certificate says itself whom it is for. */
  readonly hosts: readonly HostName[];
  readonly named: boolean;
}

type Aged = Pick<IngressFacts, 'key' | 'created'>;

/** The oldest first; of one age, by name. */
export const compareAge = (a: Aged, b: Aged): number =>
  a.created - b.created || (a.key < b.key ? -1 : Number(a.key !== b.key));

export function readIngress(ingress: Ingress): IngressFacts {
  return new Reading(ingress).facts();
}

type Backend = Parameters<typeof upstreamReference>[1] & { resource?: { kind: string; name: string } };
type Rule = NonNullable<NonNullable<Ingress['spec']>['rules']>[number];
type Path = NonNullable<Rule['http']>['paths'][number];

/** A claim that is still being put together. */
type Draft = { -readonly [K in keyof HostClaim]: HostClaim[K] } & { routes: Wanted<Route>[] };

class Reading {
  readonly #ingress: Ingress;
  readonly #wishes: Wishes;
  readonly #identity: HostClaim['ingress'];
  readonly #claims = new Map<HostName, Draft>();
  readonly #problems: IngressProblem[];

  constructor(ingress: Ingress) {
    this.#ingress = ingress;
    this.#wishes = readAnnotations(ingress.metadata.annotations);
    this.#problems = [...this.#wishes.problems];
    const { namespace = '', creationTimestamp } = ingress.metadata;
    const created = Date.parse(creationTimestamp ?? '');
    // What is not stored yet, as in a file, is younger than all that is.
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
    const entries = tls.flatMap((entry, index) => this.#readTls(entry, index));
    return { ...this.#identity, claims: this.#claims, tls: entries, problems: this.#problems };
  }

  #readRule(rule: Rule, index: number): void {
    const field = `spec.rules[${index}]`;
    const host = this.#readHost(rule.host ?? '', `${field}.host`);
    if (host === undefined) return;
    const claim = this.#claim(host, `${field}.host`);
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
    // What is left to the implementation is a Prefix here.
    const match = pathType === 'Exact' ? 'Exact' : 'Prefix';
    const written = writtenPath(path, match);
    if (written === undefined) {
      const message = `No request can have the path ${JSON.stringify(path.slice(0, 100))}: write it as it is sent, percent-encoded, beginning with a slash, without query and dot segments.`;
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
    if (backend?.service === undefined) {
      const message = `Only Services can be backends${backend?.resource ? `, a ${backend.resource.kind} can not` : ''}; requests are answered 503.`;
      this.#problems.push(ingressProblem('ResourceBackend', field, message));
    }
    const upstream = upstreamReference(namespace, backend, this.#wishes);
    const source: Source = { kind: 'Ingress', namespace, name: `${this.#ingress.metadata.name}`, ...at };
    const value = { backends: [{ upstream: upstream.id, weight: 1 }], limits: this.#wishes.limits, source };
    return { value, field, upstream, backendField: field };
  }

  /** Of the hosts that the rules name; of an Ingress without rules, of all hosts. */
  #readDefaultBackend(): void {
    const { defaultBackend, rules = [] } = this.#ingress.spec ?? {};
    if (defaultBackend === undefined) return;
    const fallback = this.#readBackend(defaultBackend, { rule: -1, path: -1 }, 'spec.defaultBackend');
    if (rules.length === 0) this.#claim('', 'spec.defaultBackend').byRule = true;
    for (const claim of this.#claims.values()) claim.fallback = fallback;
  }

  #readRedirect(): void {
    if (!this.#wishes.redirectToHttps) return;
    for (const [host, claim] of this.#claims) claim.redirectToHttps = host !== '';
    if (!this.#claims.has('')) return;
    const message = `${SSL_REDIRECT_ANNOTATION} counts for the rules that name a host: those without are shared with everybody.`;
    this.#problems.push(
      ingressProblem('InvalidAnnotation', annotationField(SSL_REDIRECT_ANNOTATION), message),
    );
  }

  #readTls(entry: { hosts?: string[]; secretName?: string }, index: number): TlsEntry[] {
    const field = `spec.tls[${index}]`;
    const written = entry.hosts ?? [];
    const hosts = written.flatMap((each, at) => {
      const host = each === '' ? undefined : this.#readHost(each, `${field}.hosts[${at}]`);
      if (host === undefined) return [];
      this.#claim(host, `${field}.hosts[${at}]`);
      return [host];
    });
    if (entry.secretName === undefined || entry.secretName === '') return [];
    const secret = `${this.#identity.namespace}/${entry.secretName}`;
    return [{ secret, field: `${field}.secretName`, hosts, named: written.length > 0 }];
  }

  #readHost(written: string, field: string): HostName | undefined {
    const host = writtenHost(written);
    if (host === undefined) {
      const message = `${JSON.stringify(written.slice(0, 100))} is no host name: write one as shop.example.com or *.example.com.`;
      this.#problems.push(ingressProblem('InvalidHost', field, message));
    }
    return host;
  }

  #claim(host: HostName, field: string): Draft {
    const claim = this.#claims.get(host) ?? {
      ingress: this.#identity,
      field,
      byRule: false,
      routes: [],
      redirectToHttps: false,
    };
    this.#claims.set(host, claim);
    return claim;
  }
}
