import { type Ingress, keyOf } from '@tidegate/kube';
import { Compiler, type Outcome } from '../../ingress/compile/index.ts';
import {
  applyDelta,
  certificateAnswer,
  decide,
  EMPTY_TABLE,
  type Match,
  match,
  type RouteTable,
} from '../../ingress/match/index.ts';
import type { RouteAction, Source } from '../../ingress/model.ts';
import type { Moved } from '../select.ts';
import type { Answer, RequestFacts } from './answer.ts';

/** What Tidegate would do with the same Ingresses, computed with the code of its routers. */
export class TidegateSide {
  /** By the key of an Ingress. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly #table: RouteTable;
  readonly #ingresses: ReadonlyMap<string, Ingress>;

  constructor({ ingresses, classNames }: Moved, now: number) {
    const compiler = new Compiler({ classNames, isOurs: () => true, now: () => now });
    for (const ingress of ingresses) compiler.put('Ingress', ingress);
    const { delta, outcomes } = compiler.flush();
    this.#table = delta === undefined ? EMPTY_TABLE : applyDelta(EMPTY_TABLE, delta);
    this.outcomes = new Map(outcomes.set.map((outcome) => [outcome.ingress, outcome]));
    this.#ingresses = new Map(ingresses.map((ingress) => [keyOf(ingress), ingress]));
  }

  /** The namespace that owns the host. */
  ownerOf(host: string): string | undefined {
    return this.#table.hosts.get(host)?.namespace;
  }

  /**
   * Access control and limits are left out, except for client certificates: they apply after the route is found, and are compared by
   * annotation. The client has no certificate.
   */
  answer({ secure, host, target }: RequestFacts): Answer {
    const found = match(this.#table, { host, path: target, headers: {}, secure });
    switch (found.kind) {
      case 'route':
        return this.#routeAnswer(found, { secure, host, target });
      case 'appRoot':
        return { kind: 'redirect', status: 302 };
      case 'redirect':
        return { kind: 'redirect', status: 308 };
      case 'notFound':
        return { kind: 'status', status: 404 };
      case 'tooManySteps':
        return { kind: 'status', status: 503 };
      case 'badRequest':
        return { kind: 'status', status: 400 };
    }
  }

  #routeAnswer(found: Extract<Match, { kind: 'route' }>, { secure, host, target }: RequestFacts): Answer {
    const { action, name, path } = found;
    if (isClosed(action)) return { kind: 'status', status: 503 };
    const { sources: _, basic: __, ...policy } = action.policy ?? {};
    const request = { client: '', secure, name, authority: host, target, path };
    const decision =
      certificateAnswer(policy, request, { isWithout: true }) ??
      decide({ ...found, action: { ...action, policy } }, request);
    if (decision.kind === 'answer')
      return decision.location === undefined
        ? { kind: 'status', status: decision.status }
        : { kind: 'redirect', status: decision.status, ingress: ingressOf(action.source) };
    return this.#backendAnswer(action.source);
  }

  #backendAnswer(source: Source): Answer {
    const ingress = ingressOf(source);
    const { rules = [], defaultBackend } = this.#ingresses.get(ingress)?.spec ?? {};
    const written = rules[source.rule]?.http?.paths[source.path];
    const service = (written?.backend ?? defaultBackend)?.service;
    const port = service?.port?.name ?? service?.port?.number;
    const backend = `${source.namespace}/${service?.name}:${port}`;
    return { kind: 'backend', backend, ingress, path: written?.path || '/' };
  }
}

const ingressOf = ({ namespace, name }: Source): string => `${namespace}/${name}`;

/** The route is not served, because it could not be protected, or because its backend is not a Service. */
const isClosed = ({ backends }: RouteAction): boolean =>
  backends.some(({ upstream }) => /^[^_]+__(?:closed)?$/.test(upstream));
