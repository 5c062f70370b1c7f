/**
 * How policies that limit which requests are served combine, if several levels ask for them: the class of an Ingress, its
 * namespace, the Ingress itself. All of them apply. An inner level never removes or weakens what an outer one asks for, unless
 * the outer level allows it. What cannot apply together is a conflict, which closes the hosts. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Limit } from './limit.ts';
import type { RoutePolicy } from './model.ts';
import { contains, type Network, networkText } from './networks.ts';
import type { IngressPolicies } from './read.ts';
import type { Sources } from './sources.ts';

/** The sections of policies with guards, and the policies of a route that they become. */
interface Guards {
  access: Sources;
  basicAuth: NonNullable<RoutePolicy['basic']>;
  externalAuth: NonNullable<RoutePolicy['externalAuth']>;
  clientCertificate: NonNullable<RoutePolicy['clientCertificate']>;
  limits: Limit;
  https: NonNullable<IngressPolicies['secure']>;
}

export type GuardName = keyof Guards;

/** What one level asks for. */
export interface GuardLevel {
  readonly policies: Pick<IngressPolicies, 'route' | 'secure'>;
  /** Guards of this level that inner levels may replace or remove. */
  readonly overridable: ReadonlySet<string>;
  /** Guards of outer levels that this level wants to remove. */
  readonly without: ReadonlySet<string>;
}

interface Held<V, L> {
  readonly value: V;
  readonly from: readonly L[];
  readonly isOverridable: boolean;
}

export interface CombinedGuards<L> {
  readonly route: RoutePolicy;
  readonly secure: IngressPolicies['secure'];
  /** The levels that each guard comes from. */
  readonly from: ReadonlyMap<GuardName, readonly L[]>;
  /** Guards of two levels that cannot apply together. */
  readonly conflicts: readonly {
    readonly guard: GuardName | 'satisfy';
    readonly outer: L;
    readonly inner: L;
  }[];
  /** Guards that a level wants to remove, and that stay. */
  readonly kept: readonly { readonly guard: GuardName; readonly outer: L; readonly inner: L }[];
}

const READ: { readonly [G in GuardName]: (policies: GuardLevel['policies']) => Guards[G] | undefined } = {
  access: ({ route }) => route?.sources,
  basicAuth: ({ route }) => route?.basic,
  externalAuth: ({ route }) => route?.externalAuth,
  clientCertificate: ({ route }) => route?.clientCertificate,
  limits: ({ route }) => route?.limit,
  https: ({ secure }) => secure,
};

/** Guards that can apply together. */
const BOTH: { readonly [G in GuardName]?: (outer: Guards[G], inner: Guards[G]) => Guards[G] } = {
  access: bothSources,
  limits: bothLimits,
  https: (outer, inner) => (outer === 'always' || inner === 'always' ? 'always' : outer),
};

/** `levels`: the outermost first. */
export function combineGuards<L extends GuardLevel>(levels: readonly L[]): CombinedGuards<L> {
  const combining = new Combining(levels);
  const sources = combining.of('access');
  const basic = combining.of('basicAuth');
  const externalAuth = combining.of('externalAuth');
  const clientCertificate = combining.of('clientCertificate');
  const limit = combining.of('limits');
  const secure = combining.of('https');
  const satisfyAny = combining.satisfy([sources, basic, externalAuth]);
  return {
    route: {
      ...(clientCertificate && { clientCertificate: clientCertificate.value }),
      ...(sources && { sources: sources.value }),
      ...(basic && { basic: basic.value }),
      ...(externalAuth && { externalAuth: externalAuth.value }),
      ...(satisfyAny && { satisfyAny }),
      ...(limit && { limit: limit.value }),
    },
    secure: secure?.value,
    from: combining.from,
    conflicts: combining.conflicts,
    kept: combining.kept,
  };
}

class Combining<L extends GuardLevel> {
  readonly from = new Map<GuardName, readonly L[]>();
  readonly conflicts: { guard: GuardName | 'satisfy'; outer: L; inner: L }[] = [];
  readonly kept: { guard: GuardName; outer: L; inner: L }[] = [];
  readonly #levels: readonly L[];

  constructor(levels: readonly L[]) {
    this.#levels = levels;
  }

  of<G extends GuardName>(guard: G): Held<Guards[G], L> | undefined {
    let held: Held<Guards[G], L> | undefined;
    for (const level of this.#levels) {
      if (level.without.has(guard) && held !== undefined) {
        if (!held.isOverridable) this.kept.push({ guard, outer: held.from[0]!, inner: level });
        else held = undefined;
      }
      const value = READ[guard](level.policies);
      if (value !== undefined) held = this.#add(guard, held, value, level);
    }
    if (held !== undefined) this.from.set(guard, held.from);
    return held;
  }

  #add<G extends GuardName>(
    guard: G,
    outer: Held<Guards[G], L> | undefined,
    value: Guards[G],
    level: L,
  ): Held<Guards[G], L> {
    const own = { value, from: [level], isOverridable: level.overridable.has(guard) };
    if (outer === undefined || outer.isOverridable) return own;
    // What an outer level requires stays required, also if this one may be overridden.
    const from = [...outer.from, level];
    const both = BOTH[guard];
    if (both !== undefined) return { value: both(outer.value, value), from, isOverridable: false };
    if (!isDeepStrictEqual(outer.value, value))
      this.conflicts.push({ guard, outer: outer.from[0]!, inner: level });
    return { value: outer.value, from, isOverridable: false };
  }

  /**
   * One of several ways is enough only if a single level asks for all of them: otherwise a client could use the way of one level
   * to get around another.
   */
  satisfy(ways: readonly (Held<unknown, L> | undefined)[]): true | undefined {
    const levels = [...new Set(ways.flatMap((way) => way?.from ?? []))];
    const any = levels.find(({ policies }) => policies.route?.satisfyAny);
    const other = levels.find((level) => level !== any);
    if (any === undefined) return undefined;
    if (other === undefined) return ways.filter(Boolean).length > 1 ? true : undefined;
    const isOuter = this.#levels.indexOf(any) < this.#levels.indexOf(other);
    this.conflicts.push({ guard: 'satisfy', outer: isOuter ? any : other, inner: isOuter ? other : any });
    return undefined;
  }
}

/** Clients that both levels allow, and none that one of them denies. */
function bothSources(outer: Sources, inner: Sources): Sources {
  const deny = [...outer.deny, ...inner.deny];
  if (outer.allow.length === 0 || inner.allow.length === 0)
    return { deny, allow: [...outer.allow, ...inner.allow] };
  const allow = intersection(outer.allow, inner.allow);
  // An empty list would allow all clients.
  return allow.length > 0 ? { deny, allow } : { deny: EVERYTHING, allow: [] };
}

const EVERYTHING: readonly Network[] = [4, 16].map((length) => ({
  octets: new Array<number>(length).fill(0),
  bits: 0,
}));

/** The addresses that are in both lists. Of two networks, one contains the other, or they have nothing in common. */
function intersection(a: readonly Network[], b: readonly Network[]): Network[] {
  const inside = (narrow: Network, wide: readonly Network[]): boolean =>
    wide.some((each) => each.bits <= narrow.bits && contains(each, narrow.octets));
  const both = [...a.filter((each) => inside(each, b)), ...b.filter((each) => inside(each, a))];
  return [...new Map(both.map((each) => [networkText(each), each])).values()];
}

/** All rates apply. Only clients that both levels exempt are exempt. */
function bothLimits(outer: Limit, inner: Limit): Limit {
  const connections = [outer.connections, inner.connections].filter((each) => each !== undefined);
  return {
    requests: [...outer.requests, ...inner.requests],
    ...(connections.length > 0 && { connections: Math.min(...connections) }),
    exempt: intersection(outer.exempt, inner.exempt),
  };
}
