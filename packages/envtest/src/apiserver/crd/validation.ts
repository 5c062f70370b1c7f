/**
 * Validates CustomResourceDefinitions. Paths are those of kube-apiserver, whose internal form moves fields that all
 * versions share to the top: `spec.validation.openAPIV3Schema` instead of `spec.versions[0].schema.openAPIV3Schema`.
 */
import { jsonEqual } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { IMMUTABLE, isDNS1035Label, isDNS1123Subdomain } from '../resources/validation/names.ts';
import { checkApproval } from './approval.ts';
import { isEstablished } from './conditions.ts';
import { checkSchema } from './schema-checks.ts';
import type { CrdVersion, CustomResourceDefinition, Names } from './types.ts';
import { checkColumns, checkConversion, checkSelectableFields, checkSubresources } from './version-checks.ts';

/** All problems of a definition, in the order of kube-apiserver. */
export function validateCrd(crd: CustomResourceDefinition, old?: CustomResourceDefinition): FieldError[] {
  return [
    ...checkName(crd),
    ...checkSpec(crd, old),
    ...checkStoredVersions(crd),
    ...checkApproval(crd, old),
    ...(crd.spec.preserveUnknownFields === true
      ? [
          fieldError.invalid(
            'spec.preserveUnknownFields',
            true,
            'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
          ),
        ]
      : []),
  ];
}

/** Fields that can never change, and fields that cannot change once the definition is established. */
export function validateCrdUpdate(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition,
): FieldError[] {
  const immutable = (field: string, value: unknown, before: unknown): FieldError[] =>
    value === before ? [] : [fieldError.invalid(field, value, IMMUTABLE)];
  const { spec } = crd;
  return [
    ...(isEstablished(old)
      ? [
          ...immutable('spec.scope', spec.scope, old.spec.scope),
          ...immutable('spec.names.kind', spec.names?.kind, old.spec.names?.kind),
        ]
      : []),
    ...immutable('spec.group', spec.group, old.spec.group),
    ...immutable('spec.names.plural', spec.names?.plural, old.spec.names?.plural),
  ];
}

function checkName({ metadata, spec }: CustomResourceDefinition): FieldError[] {
  const { name = '' } = metadata;
  if (name === '' || name === `${spec.names?.plural ?? ''}.${spec.group ?? ''}`) return [];
  return [fieldError.invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group')];
}

function checkSpec(crd: CustomResourceDefinition, old: CustomResourceDefinition | undefined): FieldError[] {
  const { spec } = crd;
  const versions = spec.versions ?? [];
  return [
    ...checkGroup(spec.group ?? ''),
    ...checkScope(spec.scope ?? ''),
    ...versions.flatMap((v, i) =>
      v.schema?.openAPIV3Schema === undefined
        ? [fieldError.required(`spec.versions[${i}].schema.openAPIV3Schema`)]
        : [],
    ),
    ...checkVersions(versions, old?.spec.versions ?? []),
    ...checkVersionSet(crd),
    ...checkNames(spec.names ?? {}),
    ...checkConversion(spec.conversion),
  ];
}

function checkGroup(group: string): FieldError[] {
  if (group === '') return [fieldError.required('spec.group')];
  const problems = isDNS1123Subdomain(group);
  if (problems.length > 0) return [fieldError.invalid('spec.group', group, problems.join(','))];
  if (group.includes('.')) return [];
  return [fieldError.invalid('spec.group', group, 'should be a domain with at least one dot')];
}

const SCOPES = ['Cluster', 'Namespaced'];

function checkScope(scope: string): FieldError[] {
  if (scope === '') return [fieldError.required('spec.scope')];
  return SCOPES.includes(scope) ? [] : [fieldError.notSupported('spec.scope', scope, SCOPES)];
}

/** A field with the same value in all versions is a field of the whole definition. */
function isShared(versions: CrdVersion[], field: keyof CrdVersion): boolean {
  const first = versions[0]?.[field];
  return first !== undefined && versions.every((v) => jsonEqual(v[field], first));
}

/**
 * Checks each version. A schema that did not change is not checked again, so that a definition that an older server
 * accepted can still be updated.
 */
function checkVersions(versions: CrdVersion[], old: CrdVersion[]): FieldError[] {
  const errors: FieldError[] = [];
  const shared = {
    schema: isShared(versions, 'schema'),
    subresources: isShared(versions, 'subresources'),
    additionalPrinterColumns: isShared(versions, 'additionalPrinterColumns'),
    selectableFields: isShared(versions, 'selectableFields'),
  };
  for (const [index, version] of versions.entries()) {
    const own = `spec.versions[${index}]`;
    const problems = isDNS1035Label(version.name ?? '');
    if (problems.length > 0) errors.push(fieldError.invalid(`${own}.name`, version.name, problems.join(',')));
    if (version.deprecationWarning !== undefined && version.deprecated !== true) {
      errors.push(
        fieldError.invalid(
          `${own}.deprecationWarning`,
          version.deprecationWarning,
          'can only be set for deprecated versions',
        ),
      );
    }
    const placed = (field: keyof typeof shared, top: string, path: string): string | undefined => {
      if (!shared[field]) return `${own}.${path}`;
      return index === 0 ? top : undefined;
    };
    const schema = version.schema?.openAPIV3Schema;
    const schemaPath = placed('schema', 'spec.validation.openAPIV3Schema', 'schema.openAPIV3Schema');
    const unchanged = jsonEqual(old.find((v) => v.name === version.name)?.schema, version.schema);
    if (schema !== undefined && schemaPath !== undefined && !unchanged) {
      errors.push(...checkSchema(schema, schemaPath, version.subresources?.status !== undefined));
    }
    const subresources = placed('subresources', 'spec.subresources', 'subresources');
    if (subresources !== undefined) errors.push(...checkSubresources(version.subresources, subresources));
    const columns = placed(
      'additionalPrinterColumns',
      'spec.additionalPrinterColumns',
      'additionalPrinterColumns',
    );
    if (columns !== undefined) errors.push(...checkColumns(version.additionalPrinterColumns ?? [], columns));
    const fields = placed('selectableFields', 'spec.selectableFields', 'selectableFields');
    if (fields !== undefined && schema !== undefined) {
      errors.push(...checkSelectableFields(version.selectableFields ?? [], schema, fields));
    }
  }
  return errors;
}

/** Versions as kube-apiserver prints them here: in the internal form, without the shared fields. */
const printVersions = (versions: CrdVersion[] | null | undefined): unknown =>
  versions?.map((v) => ({
    Name: v.name ?? '',
    Served: v.served ?? false,
    Storage: v.storage ?? false,
    Deprecated: v.deprecated ?? false,
    DeprecationWarning: v.deprecationWarning ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  }));

function checkVersionSet({ spec }: CustomResourceDefinition): FieldError[] {
  const errors: FieldError[] = [];
  const versions = spec.versions ?? [];
  const say = (what: string) =>
    errors.push(fieldError.invalid('spec.versions', printVersions(spec.versions), what));
  if (new Set(versions.map((v) => v.name)).size < versions.length) say('must contain unique version names');
  if (versions.filter((v) => v.storage === true).length !== 1) {
    say('must have exactly one version marked as storage version');
  }
  const first = versions[0]?.name;
  const problems = first === undefined ? [] : isDNS1035Label(first);
  if (problems.length > 0) errors.push(fieldError.invalid('spec.version', first, problems.join(',')));
  return errors;
}

function checkNames(names: Names): FieldError[] {
  const errors: FieldError[] = [];
  const at = (field: string): string => `spec.names.${field}`;
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const) {
    if (!names[field]) errors.push(fieldError.required(at(field)));
  }
  const check = (field: string, value: string | undefined, mixedCase: boolean): void => {
    if (!value) return;
    const problems = isDNS1035Label(mixedCase ? value.toLowerCase() : value).join(',');
    const prefix = mixedCase ? 'may have mixed case, but should otherwise match: ' : '';
    if (problems !== '') errors.push(fieldError.invalid(at(field), value, `${prefix}${problems}`));
  };
  check('plural', names.plural, false);
  check('singular', names.singular, false);
  check('kind', names.kind, true);
  check('listKind', names.listKind, true);
  for (const [i, name] of (names.shortNames ?? []).entries()) check(`shortNames[${i}]`, name, false);
  if (names.kind && names.kind === names.listKind) {
    errors.push(fieldError.invalid(at('listKind'), names.listKind, 'kind and listKind may not be the same'));
  }
  for (const [i, name] of (names.categories ?? []).entries()) check(`categories[${i}]`, name, false);
  return errors;
}

/** A version must stay in the definition while objects may be stored in it. */
function checkStoredVersions({ spec, status }: CustomResourceDefinition): FieldError[] {
  const field = 'status.storedVersions';
  const stored = status?.storedVersions ?? [];
  if (stored.length === 0) return [fieldError.invalid(field, null, 'must have at least one stored version')];
  const names = new Set(spec.versions?.map((v) => v.name));
  return stored.flatMap((version, index) =>
    names.has(version)
      ? []
      : [
          fieldError.invalid(
            `${field}[${index}]`,
            version,
            `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`,
          ),
        ],
  );
}
