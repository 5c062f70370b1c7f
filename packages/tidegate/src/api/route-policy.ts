/**
 * RoutePolicy and ClusterRoutePolicy: policies of routes, without annotations. A RoutePolicy is in the namespace of its
 * targets: single Ingresses, or the whole namespace. A ClusterRoutePolicy belongs to the administrators of the cluster; its
 * targets are classes and namespaces.
 */
import type { Condition, KindResource, Metadata } from './object.ts';
import { POLICY_SECTION_LIST, type PolicySection } from './route-policy-sections.ts';
import {
  ageColumn,
  type CustomResourceDefinition,
  conditions,
  definition,
  list,
  object,
  type PrinterColumn,
  type Schema,
  text,
  wholeObject,
} from './schema.ts';

/** What a policy applies to. Without `name`, `Namespace` in a RoutePolicy means its own. */
export type PolicyTarget = { kind: 'Ingress' | 'Namespace' | 'IngressClass'; name?: string };

/** What has become of a policy at one target. */
export type PolicyTargetStatus = { kind: string; name: string; conditions: Condition[] };

/** A RoutePolicy or a ClusterRoutePolicy. The sections are in `route-policy-sections.ts`. */
export type AttachedPolicy = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: {
    targetRefs?: PolicyTarget[];
    /** Sections with guards that inner levels may replace or remove. */
    overridable?: string[];
    /** Sections with guards of outer levels that do not apply, if those allow it. */
    without?: string[];
    /** Of a ClusterRoutePolicy: the namespace of its Secrets. */
    secretNamespace?: string;
    [section: string]: unknown;
  };
  status?: { observedGeneration?: number; conditions?: Condition[]; targets?: PolicyTargetStatus[] };
};

const GROUP = { group: 'networking.tidegate.io', version: 'v1alpha1' };

export const ROUTE_POLICIES: KindResource<AttachedPolicy> = {
  ...GROUP,
  resource: 'routepolicies',
  namespaced: true,
};

export const CLUSTER_ROUTE_POLICIES: KindResource<AttachedPolicy> = {
  ...GROUP,
  resource: 'clusterroutepolicies',
  namespaced: false,
};

/** How many targets a policy can have. Each has conditions in the status. */
export const MOST_POLICY_TARGETS = 64;

const NAME = '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$';

const sectionSchema = ({ description, fields, ingressOnly }: PolicySection): Schema =>
  object(
    ingressOnly ? `${description} Only for targets of kind Ingress.` : description,
    Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
  );

const guardNames = (description: string): Schema =>
  list(
    description,
    { type: 'string', enum: POLICY_SECTION_LIST.flatMap(([name, { guards }]) => (guards ? [name] : [])) },
    { 'x-kubernetes-list-type': 'set', maxItems: 20 },
  );

function specSchema(isCluster: boolean): Schema {
  const kinds = isCluster ? ['IngressClass', 'Namespace'] : ['Ingress', 'Namespace'];
  const sections = POLICY_SECTION_LIST.filter(([, { ingressOnly }]) => !(isCluster && ingressOnly));
  return object(
    'The policies, and what they apply to.',
    {
      targetRefs: list(
        isCluster
          ? 'Classes and namespaces whose Ingresses have the policies.'
          : 'Ingresses of the namespace that have the policies, or the whole namespace.',
        object(
          'A target.',
          {
            kind: text('Kind of the target.', { enum: kinds }),
            name: text(
              isCluster ? 'Name of the target.' : 'Name of the Ingress. Absent for kind Namespace.',
              { pattern: NAME, maxLength: 253 },
            ),
          },
          {
            required: isCluster ? ['kind', 'name'] : ['kind'],
            ...(!isCluster && {
              'x-kubernetes-validations': [
                {
                  rule: "self.kind == 'Namespace' ? !has(self.name) : has(self.name)",
                  message:
                    'name is needed for kind Ingress, and not allowed for kind Namespace, which is the namespace of the policy',
                },
              ],
            }),
          },
        ),
        { maxItems: MOST_POLICY_TARGETS, 'x-kubernetes-list-type': 'atomic' },
      ),
      overridable: guardNames(
        'Sections of this policy that are only defaults: inner levels may replace them, or remove them with without. Other sections that limit access always apply.',
      ),
      without: guardNames(
        'Sections of outer levels that do not apply here. Has an effect only if the outer level lists them in overridable.',
      ),
      ...(isCluster && {
        secretNamespace: text('Namespace of the Secrets that the policy names.', {
          pattern: NAME,
          maxLength: 63,
        }),
      }),
      ...Object.fromEntries(sections.map(([name, section]) => [name, sectionSchema(section)])),
    },
    { required: ['targetRefs'] },
  );
}

const STATUS = object('What has become of the policy.', {
  observedGeneration: { type: 'integer', format: 'int64', description: 'Generation of the spec.' },
  conditions: conditions('Conditions of the policy as a whole: Accepted.'),
  targets: list(
    'The targets.',
    object(
      'A target.',
      {
        kind: text('Kind of the target.'),
        name: text('Name of the target.'),
        conditions: conditions('Accepted: the policy applies to the target.'),
      },
      { required: ['kind', 'name'] },
    ),
    { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['kind', 'name'] },
  ),
});

const columns = (): readonly PrinterColumn[] => [
  {
    name: 'Targets',
    type: 'string',
    jsonPath: '.spec.targetRefs[*].kind',
    description: 'Kinds of the targets',
  },
  {
    name: 'Accepted',
    type: 'string',
    jsonPath: ".status.conditions[?(@.type=='Accepted')].status",
    description: 'Whether the policy applies to all of its targets',
  },
  {
    name: 'Reason',
    type: 'string',
    jsonPath: ".status.conditions[?(@.type=='Accepted')].reason",
    description: 'Why it does not',
  },
  ageColumn,
];

const schemaOf = (description: string, isCluster: boolean): Schema =>
  wholeObject(description, specSchema(isCluster), STATUS, { required: ['spec'] });

export const routePolicyDefinition = (): CustomResourceDefinition =>
  definition({
    group: GROUP.group,
    kind: 'RoutePolicy',
    plural: ROUTE_POLICIES.resource,
    shortNames: ['rpol'],
    scope: 'Namespaced',
    versions: [GROUP.version],
    schema: schemaOf(
      'RoutePolicy sets policies of routes for Ingresses of its namespace, without annotations.',
      false,
    ),
    columns: columns(),
  });

export const clusterRoutePolicyDefinition = (): CustomResourceDefinition =>
  definition({
    group: GROUP.group,
    kind: 'ClusterRoutePolicy',
    plural: CLUSTER_ROUTE_POLICIES.resource,
    shortNames: ['crpol'],
    scope: 'Cluster',
    versions: [GROUP.version],
    schema: schemaOf(
      'ClusterRoutePolicy sets policies of routes for all Ingresses of classes and namespaces. Ingresses cannot remove what it protects.',
      true,
    ),
    columns: columns(),
  });
