import { POLICY_SECTIONS, type PolicySectionName } from '../../api/index.ts';
import {
  type CombinedGuards,
  combineGuards,
  type Effect,
  type GuardLevel,
  type IngressPolicies,
  isGuarded,
  type PolicyOwner,
  type RoutePolicy,
  readPolicies,
} from '../policy/index.ts';
import type { PolicyAt } from './policy-index.ts';
import type { ReadPolicy } from './read.ts';
import { guardValues, type PolicyOrigin, type Settings } from './settings.ts';

/** A problem of an Ingress because of a policy. */
export interface InheritedProblem {
  readonly reason: 'InvalidPolicy' | 'PolicyConflict' | 'PolicyNotOverridable';
  /** The policy and its field. */
  readonly field: string;
  readonly message: string;
}

/** The policies of an Ingress, with those that it inherits. */
export interface AttachedPolicies {
  readonly policies: IngressPolicies;
  /** The hosts of the Ingress are closed, because a policy that protects something cannot be applied. */
  readonly closes: boolean;
  /** The routes of the Ingress are closed. */
  readonly closesRoutes: boolean;
  readonly problems: readonly InheritedProblem[];
  readonly origins: readonly PolicyOrigin[];
  /** By section: the policy and field that names a Secret. */
  readonly secretFields: ReadonlyMap<string, string>;
}

type Level = GuardLevel & { readonly at: PolicyAt | undefined; readonly policies: IngressPolicies };

const NOTHING: ReadonlySet<string> = new Set();

/** `own`: the policies of the annotations of the Ingress, with the settings that it inherits. `at`: the outermost first. */
export function attachPolicies(
  own: IngressPolicies,
  at: readonly PolicyAt[],
  { fields, used }: Settings,
  ingress: PolicyOwner,
): AttachedPolicies {
  const levels: Level[] = at.map((each) => ({
    at: each,
    policies: guardsOf(each.policy, ingress),
    overridable: each.policy.overridable,
    without: each.policy.without,
  }));
  const combined = combineGuards([
    ...levels,
    { at: undefined, policies: own, overridable: NOTHING, without: NOTHING },
  ]);
  const route = withGuards(own.route, combined.route, ingress);
  const guards = isGuarded(route);
  const isOwn = ({ name }: { name: string }): boolean => !fields.has(name);
  // Closed routes have no guards, so another spelling of their paths could reach an open route of the host.
  const effect = (each: Effect): Effect => (each === 'closesRoutes' && guards ? 'closesHosts' : each);
  const invalid = own.invalid.map((each) => ({ ...each, effect: effect(each.effect) }));
  const inherited = [
    ...invalid.filter((each) => !isOwn(each)).map((each) => ({ ...each, field: fields.get(each.name)! })),
    ...levels.flatMap(({ at: level, policies }) =>
      policies.invalid.map((each) => ({
        ...each,
        field: `${level?.policy.id} ${level?.policy.fields.get(each.name)}`,
      })),
    ),
  ];
  const unread = at.flatMap(({ policy }) =>
    policy.problems.map(({ field, message, closes }) => ({
      field: `${policy.id} ${field}`,
      message,
      effect: closes ? ('closesHosts' as const) : ('ignored' as const),
    })),
  );
  const wrong = [...inherited, ...unread];
  const servers = (combined.from.get('externalAuth') ?? []).flatMap(({ policies }) => policies.servers);
  return {
    policies: {
      ...own,
      route,
      secure: combined.secure,
      servers: [...new Map([...own.servers, ...servers].map((each) => [each.id, each])).values()],
      guards,
      invalid: invalid.filter(isOwn),
    },
    closes: combined.conflicts.length > 0 || wrong.some((each) => each.effect === 'closesHosts'),
    closesRoutes: wrong.some((each) => each.effect === 'closesRoutes'),
    problems: [
      ...wrong.map(
        ({ field, message, effect: each }): InheritedProblem => ({
          reason: 'InvalidPolicy',
          field,
          message: message + CONSEQUENCES[each],
        }),
      ),
      ...problemsOf(combined),
    ],
    origins: originsOf(at, used, combined),
    secretFields: secretFieldsOf(combined),
  };
}

const CONSEQUENCES: Readonly<Record<Effect, string>> = {
  closesHosts: ' Until this is corrected, all requests for the hosts of the Ingress get the response 503.',
  closesRoutes: ' Until this is corrected, all requests for the paths of the Ingress get the response 503.',
  ignored: ' The field is ignored.',
};

/** A policy of a class is read once for each namespace, not for each Ingress. */
const READ = new WeakMap<ReadPolicy, Map<string, IngressPolicies>>();

function guardsOf(policy: ReadPolicy, { namespace, name }: PolicyOwner): IngressPolicies {
  const known = READ.get(policy) ?? new Map<string, IngressPolicies>();
  READ.set(policy, known);
  const { secretNamespace } = policy;
  const read =
    known.get(namespace) ??
    readPolicies(guardValues(policy.values), {
      namespace,
      name,
      ...(secretNamespace !== undefined && { secretNamespace }),
    });
  known.set(namespace, read);
  return read;
}

function withGuards(
  own: RoutePolicy | undefined,
  guards: RoutePolicy,
  { namespace, name }: PolicyOwner,
): RoutePolicy | undefined {
  const { clientCertificate: _, sources: __, basic: ___, externalAuth: ____, ...others } = own ?? {};
  const { satisfyAny: _____, limit: ______, zone: _______, ...settings } = others;
  const needsZone = guards.limit !== undefined || guards.externalAuth?.cache !== undefined;
  const route = { ...settings, ...guards, ...(needsZone && { zone: `${namespace}/${name}` }) };
  return Object.keys(route).length === 0 ? undefined : route;
}

const nameOf = ({ at }: Level): string =>
  at === undefined ? 'an annotation of the Ingress' : `${at.policy.id} (${at.target})`;

const fieldOf = (level: Level, section: string): string =>
  level.at === undefined ? 'metadata.annotations' : `${level.at.policy.id} spec.${section}`;

const problemsOf = ({ conflicts, kept }: CombinedGuards<Level>): InheritedProblem[] => [
  ...conflicts.map(({ guard, outer, inner }): InheritedProblem => {
    const section = guard === 'satisfy' ? 'access' : guard;
    const what =
      guard === 'satisfy'
        ? `one of ${nameOf(outer)} and ${nameOf(inner)} has satisfy: any, which would let clients around the other`
        : `${nameOf(outer)} and ${nameOf(inner)} ask for different ${guard}, and a route can have one`;
    return {
      reason: 'PolicyConflict',
      field: fieldOf(inner, section),
      message: `All requests for the hosts of the Ingress get the response 503: ${what}. Remove one of them, or list ${section} in spec.overridable of ${outer.at?.policy.id ?? 'the outer policy'}.`,
    };
  }),
  ...kept.map(
    ({ guard, outer, inner }): InheritedProblem => ({
      reason: 'PolicyNotOverridable',
      field: fieldOf(inner, 'without'),
      message: `${guard} of ${nameOf(outer)} still applies: the policy does not list ${guard} in spec.overridable.`,
    }),
  ),
];

function originsOf(
  at: readonly PolicyAt[],
  used: Settings['used'],
  { from }: CombinedGuards<Level>,
): PolicyOrigin[] {
  return at.flatMap((each) => {
    const guards = [...from].flatMap(([guard, levels]) =>
      levels.some((level) => level.at === each) ? [guard] : [],
    );
    const sections = [...new Set<string>([...(used.get(each) ?? []), ...guards])].sort();
    return sections.length === 0 ? [] : [{ policy: each.policy.id, target: each.target, sections }];
  });
}

function secretFieldsOf({ from }: CombinedGuards<Level>): Map<string, string> {
  const sections = ['basicAuth', 'clientCertificate'] as const satisfies readonly PolicySectionName[];
  return new Map(
    sections.flatMap((section): [string, string][] => {
      const level = from.get(section)?.[0];
      const { annotation } = POLICY_SECTIONS[section].fields.secretName;
      return level?.at === undefined
        ? []
        : [[section, `${level.at.policy.id} ${level.at.policy.fields.get(annotation)}`]];
    }),
  );
}
