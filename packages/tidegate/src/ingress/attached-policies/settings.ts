import { GUARD_SECTIONS, POLICY_SECTION_LIST, type PolicySectionName } from '../../api/index.ts';
import { HONORED, NGINX_PREFIX } from '../nginx-annotations/index.ts';
import type { PolicyAt } from './policy-index.ts';

/** What a policy at a target contributes to an Ingress. Shown by `describe` and `trace`. */
export interface PolicyOrigin {
  /** For example `ClusterRoutePolicy sso`. */
  readonly policy: string;
  /** For example `IngressClass gold`. */
  readonly target: string;
  /** Sections of the policy that apply, sorted. */
  readonly sections: readonly string[];
}

/** The settings that an Ingress inherits. */
export interface Settings {
  /** The annotations of the Ingress, and those with the same meaning as the fields of its policies. */
  readonly annotations: Readonly<Record<string, string>>;
  /** By annotation without prefix: the policy and field that sets it. */
  readonly fields: ReadonlyMap<string, string>;
  /** By policy: the sections that apply, also in part. */
  readonly used: ReadonlyMap<PolicyAt, ReadonlySet<PolicySectionName>>;
}

interface Unit {
  readonly unit: string;
  readonly section: PolicySectionName;
}

/** By annotation without prefix: what is inherited as a whole. Guards are not: see `../policy/combine.ts`. */
const UNITS: ReadonlyMap<string, Unit> = new Map(
  POLICY_SECTION_LIST.filter(([, { guards }]) => !guards).flatMap(([section, each]) => {
    const whole = { unit: each.unit ?? section, section };
    const others = [...Object.keys(each.implies ?? {}), ...(each.replacedBy ?? [])];
    return [
      ...others.map((annotation): [string, Unit] => [annotation, whole]),
      ...Object.entries(each.fields).map(([name, { annotation }]): [string, Unit] => [
        annotation,
        each.byField ? { unit: `${section}.${name}`, section } : whole,
      ]),
    ];
  }),
);

/** By annotation of Tidegate: that of ingress-nginx, without prefix. */
const ALIASES: ReadonlyMap<string, string> = new Map(
  [...HONORED].flatMap(([name, { as }]): [string, string][] => (as === undefined ? [] : [[as, name]])),
);

/**
 * The innermost level that sets a unit wins. `policies`: the outermost first; the annotations of the Ingress are innermost.
 * `defaults` of the class are outermost: they count where no policy sets the unit. Guards among them apply like those of the Ingress.
 */
export function inheritSettings(
  policies: readonly PolicyAt[],
  own: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>> = {},
): Settings {
  const winners = new Map<string, PolicyAt | undefined>();
  for (const at of policies)
    for (const annotation of at.policy.values.keys()) {
      const unit = UNITS.get(annotation)?.unit;
      if (unit !== undefined) winners.set(unit, at);
    }
  for (const annotation of Object.keys(own)) {
    const unit = UNITS.get(nginxNameOf(annotation))?.unit;
    if (unit !== undefined) winners.set(unit, undefined);
  }
  const annotations: Record<string, string> = {};
  const fields = new Map<string, string>();
  const used = new Map<PolicyAt, Set<PolicySectionName>>();
  for (const at of policies)
    for (const [annotation, value] of at.policy.values) {
      const { unit, section } = UNITS.get(annotation) ?? {};
      if (unit === undefined || section === undefined || winners.get(unit) !== at) continue;
      annotations[NGINX_PREFIX + annotation] = value;
      fields.set(annotation, `${at.policy.id} ${at.policy.fields.get(annotation)}`);
      used.set(at, (used.get(at) ?? new Set()).add(section));
    }
  const isReplaced = (annotation: string): boolean =>
    winners.get(UNITS.get(nginxNameOf(annotation))?.unit ?? '') !== undefined;
  const remaining = Object.entries(defaults).filter(([annotation]) => !isReplaced(annotation));
  return { annotations: { ...Object.fromEntries(remaining), ...annotations, ...own }, fields, used };
}

const nginxNameOf = (annotation: string): string =>
  annotation.startsWith(NGINX_PREFIX)
    ? annotation.slice(NGINX_PREFIX.length)
    : (ALIASES.get(annotation) ?? annotation);

const GUARD_NAMES: ReadonlySet<string> = new Set(
  POLICY_SECTION_LIST.filter(([name]) => GUARD_SECTIONS.includes(name)).flatMap(
    ([, { fields, implies = {} }]) => [
      ...Object.keys(implies),
      ...Object.values(fields).flatMap(({ annotation, choices = {} }) => [
        annotation,
        ...Object.values(choices).flatMap(Object.keys),
      ]),
    ],
  ),
);

/** The values of a policy that limit which requests are served. */
export const guardValues = (values: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...values].filter(([annotation]) => GUARD_NAMES.has(annotation)));
