import { wildcardsAbove } from '../../../ingress/match/index.ts';
import type { HostName, HostRoutes, Route, RouteAction } from '../../../ingress/model.ts';
import type { RouterSnapshot } from '../../../ingress/provisioners/index.ts';
import { compareKeys, conditionsOf, keyProblem, keyText } from './rule-key.ts';
import type {
  GroupId,
  HealthCheck,
  ListenerName,
  Rule,
  RuleAction,
  RuleKey,
  TargetGroup,
  WeightedGroup,
} from './state.ts';
import { groupOf } from './target-groups.ts';

const NOT_FOUND: RuleAction = { kind: 'respond', status: 404 };
const CLOSED: RuleAction = { kind: 'respond', status: 503 };

/** Translates routes to rules. Hosts that are closed answer 503. */
export class Translation {
  readonly groups = new Map<GroupId, TargetGroup>();
  readonly #routes: Pick<RouterSnapshot, 'hosts' | 'upstreams'>;
  readonly #health: HealthCheck;
  readonly #closed: (host: HostName, listener: ListenerName) => boolean;
  /** The rules without a host. */
  readonly #shared: HostRoutes | undefined;
  readonly #sharedNamespaces: ReadonlySet<string>;

  constructor(
    routes: Pick<RouterSnapshot, 'hosts' | 'upstreams'>,
    health: HealthCheck,
    closed: (host: HostName, listener: ListenerName) => boolean,
  ) {
    this.#routes = routes;
    this.#health = health;
    this.#closed = closed;
    this.#shared = closed('', 'http') ? undefined : routes.hosts.get('');
    this.#sharedNamespaces = new Set(actionsOf(this.#shared).map(({ source }) => source.namespace));
  }

  rules(listener: ListenerName): Rule[] {
    const rules = new Map<string, Rule>();
    for (const host of this.#routes.hosts.values())
      for (const rule of this.#rulesOf(host, listener)) {
        // The first route wins if several have the same path.
        const text = keyText(rule.key);
        if (!rules.has(text) && keyProblem(rule.key) === undefined) rules.set(text, rule);
      }
    return withoutUnreachable([...rules.values()].sort((a, b) => compareKeys(a.key, b.key)));
  }

  *#rulesOf(entry: HostRoutes, listener: ListenerName): Generator<Rule> {
    const { host, namespace } = entry;
    if (host === '' && this.#shared === undefined) return;
    if (this.#closed(host, listener)) yield { key: restOf(host), action: CLOSED };
    else if (entry.redirectToHttps === true && listener === 'http' && host !== '')
      yield { key: restOf(host), action: { kind: 'redirect' } };
    else yield* this.#routesOf(entry);
    // The wildcard of an ALB also covers hosts further below, which belong to the owner of the wildcard.
    if (host.startsWith('*.')) yield* this.#sharedOf(`*${host}`, namespace);
  }

  *#routesOf(entry: HostRoutes): Generator<Rule> {
    const { host, namespace } = entry;
    for (const { path, match, action } of entry.routes)
      yield { key: { section: 'own', host, path, match: kindOf(match) }, action: this.#forward(action) };
    if (entry.fallback !== undefined) yield { key: restOf(host), action: this.#forward(entry.fallback) };
    else if (host !== '' && this.#fallsThrough(entry)) yield* this.#sharedOf(host, namespace);
  }

  /** The answers to requests of a host that its own rules do not match: the rules without a host of its owner. */
  *#sharedOf(host: HostName, namespace: string): Generator<Rule> {
    const isOfOwner = ({ source }: RouteAction): boolean => source.namespace === namespace;
    for (const { path, match, action } of this.#shared?.routes ?? [])
      if (isOfOwner(action))
        yield { key: { section: 'shared', host, path, match: kindOf(match) }, action: this.#forward(action) };
    const fallback = this.#shared?.fallback;
    const isOwn = fallback !== undefined && isOfOwner(fallback);
    yield { key: restOf(host), action: isOwn ? this.#forward(fallback) : NOT_FOUND };
  }

  /** Whether requests of the host that it has no rule for could reach a rule of another host that is wrong. */
  #fallsThrough({ host, namespace }: HostRoutes): boolean {
    if (wildcardsAbove(host).some((above) => this.#routes.hosts.has(above))) return true;
    return [...this.#sharedNamespaces].some((each) => each !== namespace);
  }

  /** Upstreams without endpoints get no share of the requests, unless all are like this: then the response is 503. */
  #forward({ backends }: RouteAction): RuleAction {
    const used = backends.flatMap(({ upstream, weight }) => {
      const known = weight > 0 ? this.#routes.upstreams.get(upstream) : undefined;
      const group = known && groupOf(known, this.#health);
      return group === undefined ? [] : [{ group, weight }];
    });
    const serving = used.filter(({ group }) => group.targets.length > 0);
    const chosen = serving.length > 0 ? serving : used.slice(0, 1);
    if (chosen.length === 0) return CLOSED;
    for (const { group } of chosen) this.groups.set(group.id, group);
    const weightOf = (weight: number): number => (chosen.length === 1 ? 1 : weight);
    return {
      kind: 'forward',
      groups: chosen.map(
        ({ group, weight }): WeightedGroup => ({ group: group.id, weight: weightOf(weight) }),
      ),
    };
  }
}

/** Rules cost room: those behind a rule with the same conditions, or behind one for all paths of the host, are left out. */
function withoutUnreachable(rules: readonly Rule[]): Rule[] {
  const seen = new Set<string>();
  return rules.filter(({ key }) => {
    const { hosts, paths } = conditionsOf(key);
    const texts = [`${hosts[0]}`, `${hosts[0]} ${paths.join(' ')}`];
    const isReachable = !texts.some((text) => seen.has(text));
    seen.add(paths.length === 0 || paths[0] === '/*' ? `${hosts[0]}` : `${texts[1]}`);
    return isReachable;
  });
}

/** Hosts with regular expressions are refused. */
const kindOf = (match: Route['match']): RuleKey['match'] => (match === 'Exact' ? 'Exact' : 'Prefix');

export const restOf = (host: HostName): RuleKey => ({ section: 'rest', host, path: '', match: 'Prefix' });

export const actionsOf = (host: HostRoutes | undefined): RouteAction[] => [
  ...(host?.routes ?? []).map(({ action }) => action),
  ...(host?.fallback === undefined ? [] : [host.fallback]),
];
