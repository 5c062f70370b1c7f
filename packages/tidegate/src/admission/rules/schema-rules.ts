/**
 * The rules that are part of the schemas (`x-kubernetes-validations`), for API servers before Kubernetes 1.25, which do not
 * evaluate them. Other API servers have rejected an invalid object before they call the webhook.
 *
 * The rules are written in CEL. There is a function for each of the few that Tidegate uses, and a test that compares them
 * with an evaluation of the expressions. A rule without a function fails at the start.
 */
import type { KubeObject } from '@tidegate/kube';
import { customResourceDefinitions, type Schema, type ValidationRule } from '../../api/index.ts';
import type { AdmissionRequest, FieldProblem } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';

type Map = Readonly<Record<string, unknown>>;
/** Returns whether the value is valid. A rule with two parameters compares with the value before the change. */
type Check = (self: Map, before: Map) => boolean;

const isSet = (map: Map, key: string): boolean => Object.hasOwn(map, key) && map[key] !== undefined;
const isTrue = (map: Map, key: string): boolean => map[key] === true;
const mapIn = (map: Map, key: string): Map => (map[key] ?? {}) as Map;

/** Two spellings of one field must not differ. */
const sameIfBoth =
  (one: string, other: string): Check =>
  (self) =>
    !isSet(self, one) || !isSet(self, other) || JSON.stringify(self[one]) === JSON.stringify(self[other]);

const SPELLINGS = [
  ['ingress_ips', 'ingressIPs'],
  ['ingress_controller_replicas_per_pool', 'ingressControllerReplicasPerPool'],
  ['ingress_controller_image', 'ingressControllerImage'],
  ['ingress_webhook_certgen_image', 'ingressWebhookCertGenImage'],
] as const;

export const CHECKS: Readonly<Record<string, Check>> = {
  'size(self.metadata.name) <= 63': (self) => `${mapIn(self, 'metadata').name ?? ''}`.length <= 63,
  "self.path.startsWith('/')": (self) => `${self.path}`.startsWith('/'),
  "!self.controller.startsWith('tidegate.io/') && !self.controller.startsWith('kubernetes.io/')": (self) =>
    !['tidegate.io/', 'kubernetes.io/'].some((prefix) => `${self.controller}`.startsWith(prefix)),
  "self.operator == 'remove' || (has(self.value) && self.value != '')": (self) =>
    self.operator === 'remove' || (isSet(self, 'value') && self.value !== ''),
  'has(self.labelSelector) && (has(self.labelSelector.matchLabels) || has(self.labelSelector.matchExpressions))':
    (self) =>
      isSet(mapIn(self, 'labelSelector'), 'matchLabels') ||
      isSet(mapIn(self, 'labelSelector'), 'matchExpressions'),
  'self.host == oldSelf.host && self.ingressClassName == oldSelf.ingressClassName': (self, before) =>
    self.host === before.host && self.ingressClassName === before.ingressClassName,
  "!('' in self)": (self) => !Object.hasOwn(self, ''),
  '!has(self.sharedWith) || !(self.ingressClassName in self.sharedWith)': (self) =>
    !(self.sharedWith as unknown[] | undefined)?.includes(self.ingressClassName),
  "!has(self.matchLabels) || !('apps.kubeedge.io/belonging-to' in self.matchLabels)": (self) =>
    !Object.hasOwn(mapIn(self, 'matchLabels'), 'apps.kubeedge.io/belonging-to'),
  "!(self.type == 'Cloud' && has(self.hostNetwork) && self.hostNetwork)": (self) =>
    !(self.type === 'Cloud' && isTrue(self, 'hostNetwork')),
  "self.kind == 'Namespace' ? !has(self.name) : has(self.name)": (self) =>
    (self.kind === 'Namespace') !== isSet(self, 'name'),
  'self.type == oldSelf.type': (self, before) => self.type === before.type,
  "!(has(self.leaderElectionStrategy) && self.leaderElectionStrategy == 'mark') || (has(self.leaderNodeLabelSelector) && size(self.leaderNodeLabelSelector) > 0)":
    (self) =>
      self.leaderElectionStrategy !== 'mark' ||
      Object.keys(mapIn(self, 'leaderNodeLabelSelector')).length > 0,
  "!has(self.labels) || !('apps.openyurt.io/nodepool' in self.labels || 'apps.openyurt.io/desired-nodepool' in self.labels)":
    (self) =>
      !['apps.openyurt.io/nodepool', 'apps.openyurt.io/desired-nodepool'].some((key) =>
        Object.hasOwn(mapIn(self, 'labels'), key),
      ),
  ...Object.fromEntries(
    ['hostNetwork', 'interConnectivity'].map((flag): [string, Check] => [
      `(has(self.${flag}) && self.${flag}) == (has(oldSelf.${flag}) && oldSelf.${flag})`,
      (self, before) => isTrue(self, flag) === isTrue(before, flag),
    ]),
  ),
  ...Object.fromEntries(
    SPELLINGS.map(([one, other]) => [
      `!has(self.${one}) || !has(self.${other}) || self.${one} == self.${other}`,
      sameIfBoth(one, other),
    ]),
  ),
};

/** Adds the rules of the schema to a rule for the same kind. */
export function withSchemaRules(rule: AdmissionRule): AdmissionRule {
  const schemas = schemasOf(rule);
  if (schemas === undefined || rule.subresource !== undefined || rule.mutates) return rule;
  return {
    ...rule,
    async evaluate(request, turn) {
      const problems = schemaProblems(schemas, request);
      return problems.length > 0 ? { problems } : rule.evaluate(request, turn);
    },
  };
}

/** The schema of each version of the kind; undefined for kinds of Kubernetes. */
export function schemasOf({
  group,
  resource,
}: Pick<AdmissionRule, 'group' | 'resource'>): ReadonlyMap<string, Schema> | undefined {
  const definition = customResourceDefinitions().find(
    ({ metadata }) => metadata.name === `${resource}.${group}`,
  );
  if (definition === undefined) return undefined;
  const { versions } = definition.spec as {
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
  return new Map(versions.map(({ name, schema }) => [name, schema.openAPIV3Schema]));
}

/** An object whose spec is invalid since earlier can lose finalizers and get labels, so that it can be deleted. */
export function schemaProblems(
  schemas: ReadonlyMap<string, Schema>,
  { kind, object, oldObject, operation }: AdmissionRequest,
): FieldProblem[] {
  const schema = schemas.get(kind.version);
  if (schema === undefined || !object || operation === 'DELETE') return [];
  const before = oldObject ? fieldsOf(oldObject) : undefined;
  const now = fieldsOf(object);
  if (before !== undefined && JSON.stringify(before) === JSON.stringify(now)) return [];
  return [...problemsIn(schema, object, oldObject ?? undefined, '')];
}

/** What users write. The status and most metadata change all the time. */
const fieldsOf = ({ status: _, metadata, ...rest }: KubeObject): object => ({ ...rest, name: metadata.name });

function* problemsIn(schema: Schema, value: unknown, before: unknown, path: string): Generator<FieldProblem> {
  if (typeof value !== 'object' || value === null) return;
  for (const rule of schema['x-kubernetes-validations'] ?? [])
    if (!isValid(rule, value as Map, before as Map | undefined))
      yield {
        path: `${path}${rule.fieldPath ?? ''}`.replace(/^\./, '') || 'metadata.name',
        message: rule.message,
      };
  if (Array.isArray(value)) {
    // Entries of a list have no identity here. The rules that compare are not in lists.
    if (schema.items !== undefined)
      for (const [index, item] of value.entries())
        yield* problemsIn(schema.items, item, undefined, `${path}[${index}]`);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const of = schema.properties?.[key] ?? schema.additionalProperties;
    const old = (before as Map | undefined)?.[key];
    if (of !== undefined) yield* problemsIn(of, item, old, `${path}.${key}`);
  }
}

function isValid({ rule }: ValidationRule, self: Map, before: Map | undefined): boolean {
  const check = CHECKS[rule];
  if (check === undefined) throw new Error(`the rule of a schema has no function: ${rule}`);
  if (rule.includes('oldSelf')) return before === undefined || check(self, before);
  return check(self, {});
}
