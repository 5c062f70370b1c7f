/** Checks that the schema of a custom resource is structural and consistent, and that its defaults are valid. */
import { jsonEqual, ownField } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { compileErrors } from '../schema/cel/compile-errors.ts';
import { isKnownFormat } from '../schema/formats.ts';
import { prune } from '../schema/prune.ts';
import { regexp } from '../schema/regexp.ts';
import type { Schema } from '../schema/types.ts';
import { validateSchema } from '../schema/validate.ts';
import { checkKeywords } from './keyword-checks.ts';
import type { CustomResourceDefinition } from './types.ts';

type Level = 'root' | 'item' | 'field';

/**
 * All problems of a schema. CEL rules are compiled only if everything else is valid, because their types come from
 * it.
 */
export function checkSchema(schema: Schema, path: string, hasStatus: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (hasStatus) errors.push(...checkRootOfStatus(schema, path));
  if (schema.nullable === true) {
    errors.push(fieldError.forbidden(`${path}.nullable`, 'nullable cannot be true at the root'));
  }
  const unsupported = checkKeywords(schema, path);
  // A reference cannot be resolved, so further checks make no sense.
  if (unsupported.some((e) => /\.(\$ref|items)$/.test(e.field))) return [...errors, ...unsupported];
  const structural = [...checkStructural(schema, path, 'root'), ...checkCompleteness(schema, path)];
  structural.sort((a, b) => (a.field + a.body < b.field + b.body ? -1 : 1));
  errors.push(...structural);
  if (structural.length === 0) errors.push(...checkDefaults(schema, path));
  errors.push(...unsupported);
  return errors.length > 0 ? errors : compileErrors(schema, path);
}

/** The status is validated by the `status` part of the schema alone, so the root must not have other constraints. */
const ALLOWED_AT_ROOT = [
  'description',
  'type',
  'format',
  'title',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'multipleOf',
  'required',
  'items',
  'properties',
  'externalDocs',
  'example',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
];
const ROOT_NAMES =
  '[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]';

function checkRootOfStatus(schema: Schema, path: string): FieldError[] {
  if (Object.keys(schema).every((key) => ALLOWED_AT_ROOT.includes(key))) return [];
  return [
    fieldError.invalid(
      path,
      schema,
      `only ${ROOT_NAMES} fields are allowed at the root of the schema if the status subresource is enabled`,
    ),
  ];
}

/** Every node must declare its type. Combinations (allOf, anyOf, oneOf, not) may only restrict. */
function checkStructural(schema: Schema, path: string, level: Level): FieldError[] {
  const errors: FieldError[] = [];
  const { type, items, properties = {}, additionalProperties } = schema;
  const isResource = schema['x-kubernetes-embedded-resource'] === true;
  if (type === 'array' && items === undefined)
    errors.push(fieldError.required(`${path}.items`, 'must be specified'));
  if (items !== undefined) errors.push(...checkStructural(items, `${path}.items`, 'item'));
  for (const [key, property] of Object.entries(properties)) {
    errors.push(...checkStructural(property, `${path}.properties[${key}]`, 'field'));
  }
  if (additionalProperties !== undefined && level === 'root') {
    errors.push(fieldError.forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  }
  if (typeof additionalProperties === 'object') {
    errors.push(...checkStructural(additionalProperties, `${path}.additionalProperties`, 'field'));
  }
  errors.push(
    ...checkType(schema, path, level),
    ...checkCombined(schema, path),
    ...checkPattern(schema, path),
  );
  if (level === 'root' || isResource) errors.push(...checkMetadata(properties, path, level));
  if (isResource && !schema['x-kubernetes-preserve-unknown-fields'] && Object.keys(properties).length === 0) {
    errors.push(
      fieldError.required(
        `${path}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ),
    );
  }
  return errors;
}

const WHERE: Record<Level, string> = {
  root: 'at the root',
  item: 'for specified array items',
  field: 'for specified object fields',
};

function checkType(schema: Schema, path: string, level: Level): FieldError[] {
  const { type } = schema;
  if (schema['x-kubernetes-embedded-resource'] === true && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true';
    return [
      type === undefined
        ? fieldError.required(`${path}.type`, detail)
        : fieldError.invalid(`${path}.type`, type, detail),
    ];
  }
  if (level === 'root' && type !== undefined && type !== 'object') {
    return [fieldError.invalid(`${path}.type`, type, 'must be object at the root')];
  }
  const mayBeUntyped =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (type !== undefined || mayBeUntyped) return [];
  return [fieldError.required(`${path}.type`, `must not be empty ${WHERE[level]}`)];
}

function checkPattern({ pattern }: Schema, path: string): FieldError[] {
  if (pattern === undefined) return [];
  try {
    regexp(pattern);
    return [];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [
      fieldError.invalid(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${why}`),
    ];
  }
}

function checkMetadata(properties: Record<string, Schema>, path: string, level: Level): FieldError[] {
  const errors: FieldError[] = [];
  for (const key of ['kind', 'apiVersion']) {
    const property = properties[key];
    if (property !== undefined && property.type !== 'string') {
      errors.push(
        fieldError.invalid(`${path}.properties[${key}].type`, property.type ?? '', 'must be string'),
      );
    }
  }
  const { metadata } = properties;
  if (metadata === undefined) return errors;
  const field = `${path}.properties[metadata]`;
  if (metadata.type !== 'object')
    errors.push(fieldError.invalid(`${field}.type`, metadata.type ?? '', 'must be object'));
  const extra = Object.keys(metadata.properties ?? {}).some(
    (key) => key !== 'name' && key !== 'generateName',
  );
  if (level === 'root' && extra) {
    errors.push(
      fieldError.forbidden(
        field,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
  }
  return errors;
}

const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }];

/** Visits each schema inside anyOf, allOf, oneOf and not, except the pattern for int-or-string. */
function eachCombined(schema: Schema, path: string, visit: (nested: Schema, path: string) => void): void {
  const isPattern = (list: Schema[] | undefined): boolean => jsonEqual(list, INT_OR_STRING);
  if (!isPattern(schema.anyOf)) {
    for (const [i, nested] of (schema.anyOf ?? []).entries()) visit(nested, `${path}.anyOf[${i}]`);
  }
  for (const [i, nested] of (schema.allOf ?? []).entries()) {
    const { anyOf, ...rest } = nested;
    visit(i === 0 && isPattern(anyOf) ? rest : nested, `${path}.allOf[${i}]`);
  }
  for (const [i, nested] of (schema.oneOf ?? []).entries()) visit(nested, `${path}.oneOf[${i}]`);
  if (schema.not !== undefined) visit(schema.not, `${path}.not`);
}

const FORBIDDEN_INSIDE: [key: keyof Schema, detail: string][] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

/** Combinations are not used for pruning and defaulting, so they must not declare anything that these need. */
function checkCombined(schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  eachCombined(schema, path, (nested, at) => errors.push(...checkNested(nested, at)));
  return errors;
}

function checkNested(schema: Schema, path: string): FieldError[] {
  const errors = FORBIDDEN_INSIDE.filter(([key]) => schema[key] !== undefined && schema[key] !== false).map(
    ([key, detail]) => fieldError.forbidden(`${path}.${key}`, detail),
  );
  errors.push(...checkCombined(schema, path), ...checkPattern(schema, path));
  if (schema.items !== undefined) errors.push(...checkNested(schema.items, `${path}.items`));
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const at = `${path}.properties[${key}]`;
    errors.push(...checkNested(property, at));
    if (key === 'metadata')
      errors.push(fieldError.forbidden(at, 'must not be specified in a nested context'));
  }
  return errors;
}

/** Fields inside a combination must also be declared outside of it. */
function checkCompleteness(schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const compare = (declared: Schema, nested: Schema, path: string, nestedPath: string): void => {
    const child = (outer: Schema | undefined, inner: Schema, step: string): void => {
      const [at, nestedAt] = [`${path}.${step}`, `${nestedPath}.${step}`];
      if (outer === undefined) errors.push(fieldError.required(at, `because it is defined in ${nestedAt}`));
      else compare(outer, inner, at, nestedAt);
    };
    if (nested.items !== undefined) child(declared.items, nested.items, 'items');
    for (const [key, property] of Object.entries(nested.properties ?? {})) {
      child(ownField(declared.properties, key), property, `properties[${key}]`);
    }
    eachCombined(nested, nestedPath, (inner, innerPath) => compare(declared, inner, path, innerPath));
  };
  eachCombined(schema, path, (nested, nestedPath) => compare(schema, nested, path, nestedPath));
  return errors;
}

/** Visits every node that declares a value, with its path. */
function walk(schema: Schema, path: string, visit: (node: Schema, path: string) => void): void {
  visit(schema, path);
  if (schema.items !== undefined) walk(schema.items, `${path}.items`, visit);
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    walk(property, `${path}.properties[${key}]`, visit);
  }
  if (typeof schema.additionalProperties === 'object') {
    walk(schema.additionalProperties, `${path}.additionalProperties`, visit);
  }
}

/** A default must be valid and must survive pruning. Otherwise objects that the server defaults would be invalid. */
function checkDefaults(schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  walk(schema, path, (node, at) => {
    if (node.default === undefined) return;
    const field = `${at}.default`;
    const value = structuredClone(node.default);
    const wrapper: Schema = { type: 'object', properties: { value: node } };
    if (prune({ value }, wrapper).length > 0) {
      errors.push(fieldError.invalid(field, node.default, 'must not have unknown fields'));
    } else {
      const found = validateSchema(node.default, node);
      errors.push(...found.map((e) => ({ ...e, field: e.field === '' ? field : `${field}.${e.field}` })));
    }
  });
  return errors;
}

/** Formats that the server does not know. It returns a warning for them. */
export function unknownFormats(crd: CustomResourceDefinition): string[] {
  const formats: string[] = [];
  for (const version of crd.spec.versions ?? []) {
    const schema = version.schema?.openAPIV3Schema;
    if (schema === undefined) continue;
    walk(schema, '', ({ format }) => {
      if (format !== undefined && !isKnownFormat(format)) formats.push(format);
    });
  }
  return formats;
}
