/** Converts a CustomResourceDefinition to the ResourceDefinition that the server serves. */
import { jsonEqual, type KubeObject } from '@tidegate/kube';
import type { FieldError, FieldErrorReason } from '@tidegate/serving';
import type {
  Converter,
  ResourceDefinition,
  ScalePaths,
  ServedVersion,
  Strategy,
  Subresource,
  Verb,
} from '../resources/types.ts';
import { nameIsSubdomain } from '../resources/validation/names.ts';
import { hasRules, RULES_NOT_CHECKED, validateRules } from '../schema/cel/rules.ts';
import { applyDefaults } from '../schema/defaults.ts';
import { validateListsAndResources } from '../schema/embedded.ts';
import { prune } from '../schema/prune.ts';
import type { Schema } from '../schema/types.ts';
import { validateSchema } from '../schema/validate.ts';
import { compileJsonPath } from './json-path.ts';
import { customPrinter } from './printer.ts';
import { checkScaleSpec, checkScaleStatus } from './scale-checks.ts';
import type { CrdVersion, CustomResourceDefinition } from './types.ts';
import { byPriority } from './version-priority.ts';

const VERBS: Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

export interface DefinitionOptions {
  /** Converts objects with the webhook of the definition. */
  convert?: Converter;
  /** The revision since which this schema applies: objects that were written later have its defaults. */
  since?: number;
}

/** The definition must have passed validation. */
export function definitionOf(
  crd: CustomResourceDefinition,
  { convert, since }: DefinitionOptions = {},
): ResourceDefinition {
  const { group = '', scope, versions } = crd.spec;
  const names = { ...crd.spec.names, ...crd.status?.acceptedNames };
  const { plural = '', singular = '', kind = '', listKind = '' } = names;
  const served = (versions ?? [])
    .filter((v) => v.served === true)
    .sort((a, b) => byPriority(nameOf(a), nameOf(b)));
  const stored = (versions ?? []).find((v) => v.storage === true) ?? {};
  // Objects may be stored in several versions, so even the storage version prunes what it reads.
  const isMixed = (crd.status?.storedVersions ?? []).length > 1;
  const scale = served.find((v) => v.subresources?.scale !== undefined)?.subresources?.scale;
  return {
    group,
    plural,
    singular,
    kind,
    listKind,
    namespaced: scope === 'Namespaced',
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    storage: `${group}/${plural}`,
    storageVersion: nameOf(stored),
    versions: served.map((version) => ({
      ...servedVersion(version, convert !== undefined),
      ...readForm(version, versions ?? [], isMixed || differs(version, stored), since),
      ...deprecation(version, served, group, kind),
    })),
    verbs: VERBS,
    subresources: subresourcesOf(served, group, kind),
    checkName: nameIsSubdomain,
    requiresResourceVersion: true,
    ...(scale === undefined ? {} : { scale: scalePaths(scale) }),
    generation: true,
    custom: true,
    ...(convert && { convert }),
    strategy: strategyOf(stored),
    ...(served.some((version) => differs(version, stored))
      ? { pruneForStorage: pruneBy(schemaOf(stored)) }
      : {}),
  };
}

const nameOf = (version: CrdVersion): string => version.name ?? '';

/** Only versions from older servers lack a schema. All fields are kept in this case. */
const schemaOf = (version: CrdVersion): Schema =>
  version.schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function servedVersion(version: CrdVersion, isConverted: boolean): ServedVersion {
  const selectableFields = selectableFieldsOf(version);
  return {
    name: nameOf(version),
    schema: schemaOf(version),
    printer: customPrinter(version.additionalPrinterColumns),
    // A webhook changes the fields, so objects are validated before and after the conversion.
    ...(isConverted ? { unconverted: strategyOf(version) } : { strategy: strategyOf(version) }),
    ...(selectableFields && { selectableFields }),
  };
}

/** Objects that are stored in another form, or without defaults that were added later, are completed when they are read. */
function readForm(
  version: CrdVersion,
  all: readonly CrdVersion[],
  isOther: boolean,
  since: number | undefined,
): Pick<ServedVersion, 'fromStorage' | 'currentFrom'> {
  const schema = schemaOf(version);
  const fromStorage = completedBy(schema, new Map(all.map((one) => [nameOf(one), schemaOf(one)])));
  if (isOther) return { fromStorage };
  if (!hasDefaults(schema)) return {};
  return { fromStorage, ...(since !== undefined && { currentFrom: since }) };
}

const hasDefaults = (schema: Schema): boolean =>
  schema.default !== undefined ||
  Object.values(schema.properties ?? {}).some(hasDefaults) ||
  (schema.items !== undefined && hasDefaults(schema.items)) ||
  (typeof schema.additionalProperties === 'object' && hasDefaults(schema.additionalProperties));

/** The defaults are those of the version in which the object is stored, and not of the version that is read. */
const completedBy =
  (schema: Schema, schemas: ReadonlyMap<string, Schema>) =>
  (object: KubeObject): KubeObject => {
    const copy = structuredClone(object);
    const stored = schemas.get(object.apiVersion?.split('/').at(-1) ?? '');
    if (stored !== undefined) applyDefaults(copy, stored);
    prune(copy, schema);
    return copy;
  };

const differs = (version: CrdVersion, stored: CrdVersion): boolean =>
  !jsonEqual(schemaOf(version), schemaOf(stored));

/** Conversion changes only the apiVersion, but each version is pruned by its own schema. */
const pruneBy =
  (schema: Schema) =>
  (object: KubeObject): KubeObject => {
    const copy = structuredClone(object);
    prune(copy, schema);
    return copy;
  };

/** The warning for requests that use a deprecated version. It names a newer version if there is one. */
function deprecation(
  { deprecated, deprecationWarning, ...version }: CrdVersion,
  served: CrdVersion[],
  group: string,
  kind: string,
): Pick<ServedVersion, 'deprecationWarning'> {
  if (deprecated !== true) return {};
  const better = served.find((v) => v.deprecated !== true && byPriority(nameOf(v), nameOf(version)) < 0);
  const advice = better === undefined ? '' : `; use ${group}/${nameOf(better)} ${kind}`;
  return {
    deprecationWarning: deprecationWarning ?? `${group}/${nameOf(version)} ${kind} is deprecated${advice}`,
  };
}

function subresourcesOf(versions: CrdVersion[], group: string, kind: string): Record<string, Subresource> {
  const has = (name: 'status' | 'scale') => versions.find((v) => v.subresources?.[name] !== undefined);
  const verbs: Verb[] = ['get', 'patch', 'update'];
  const withStatus = has('status');
  return {
    ...(withStatus === undefined ? {} : { status: { group, version: nameOf(withStatus), kind, verbs } }),
    ...(has('scale') === undefined
      ? {}
      : { scale: { group: 'autoscaling', version: 'v1', kind: 'Scale', verbs } }),
  };
}

const withoutDot = (path: string): string => path.replace(/^\./, '');

const scalePaths = (scale: NonNullable<CrdVersion['subresources']>['scale'] & object): ScalePaths => ({
  specReplicasPath: withoutDot(scale.specReplicasPath ?? ''),
  statusReplicasPath: withoutDot(scale.statusReplicasPath ?? ''),
  ...(scale.labelSelectorPath === undefined
    ? {}
    : { labelSelectorPath: withoutDot(scale.labelSelectorPath) }),
});

function selectableFieldsOf(
  version: CrdVersion,
): ((object: KubeObject) => Record<string, string>) | undefined {
  const paths = (version.selectableFields ?? []).map(({ jsonPath = '' }) => ({
    name: withoutDot(jsonPath),
    read: compileJsonPath(jsonPath),
  }));
  if (paths.length === 0) return undefined;
  return (object) =>
    Object.fromEntries(paths.map(({ name, read }) => [name, String(read?.(object)[0] ?? '')]));
}

/** After these errors, CEL rules are not evaluated, because values may not have the expected types. */
const BLOCKING = new Set<FieldErrorReason>([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/**
 * Validation in the order of kube-apiserver: schema, scale, lists and embedded objects, then CEL rules. Rules run
 * last, and only on objects that conform to the schema.
 */
function strategyOf(version: CrdVersion): Required<Pick<Strategy, 'validate' | 'validateStatusUpdate'>> {
  const schema = schemaOf(version);
  const scale = version.subresources?.scale;
  const withRules = (object: KubeObject, old: KubeObject | undefined, errors: FieldError[]): FieldError[] => {
    const all = [...errors, ...validateListsAndResources(object, schema, old)];
    if (!hasRules(schema)) return all;
    const blocked = all.some((error) => BLOCKING.has(error.reason));
    return [...all, ...(blocked ? [RULES_NOT_CHECKED] : validateRules(object, schema, old))];
  };
  return {
    validate: (object, old) =>
      withRules(object, old, [
        ...validateSchema(object, schema, old),
        ...checkScaleSpec(object, scale),
        ...checkScaleStatus(object, scale),
      ]),
    validateStatusUpdate: (object, old) =>
      withRules(object, old, [...validateStatus(object, schema, old), ...checkScaleStatus(object, scale)]),
  };
}

/** The status is validated against its own part of the schema, so error paths start at the status. */
function validateStatus({ status }: KubeObject, schema: Schema, old: KubeObject): FieldError[] {
  const own = schema.properties?.status;
  if (status === undefined || own === undefined) return [];
  return validateSchema(status, own, old.status).map((error) => ({
    ...error,
    field: error.field === '' ? 'status' : `status.${error.field}`,
  }));
}
