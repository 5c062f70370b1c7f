/** Builders for structural schemas and CustomResourceDefinitions. */
import type { Metadata } from './object.ts';

export interface ValidationRule {
  rule: string;
  message: string;
  fieldPath?: string;
}

export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  format?: string;
  description?: string;
  default?: unknown;
  enum?: readonly string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  required?: readonly string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  maxItems?: number;
  maxProperties?: number;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-map-type'?: 'atomic';
  'x-kubernetes-list-map-keys'?: readonly string[];
  'x-kubernetes-preserve-unknown-fields'?: true;
  'x-kubernetes-int-or-string'?: true;
  'x-kubernetes-validations'?: readonly ValidationRule[];
}

type More = Omit<Schema, 'type' | 'properties' | 'items' | 'additionalProperties'>;

export const text = (description: string, more: More = {}): Schema => ({
  type: 'string',
  description,
  ...more,
});
export const flag = (description: string): Schema => ({ type: 'boolean', description });
export const integer = (description: string, more: More = {}): Schema => ({
  type: 'integer',
  format: 'int32',
  description,
  ...more,
});
export const object = (description: string, properties: Record<string, Schema>, more: More = {}): Schema => ({
  type: 'object',
  description,
  properties,
  ...more,
});
export const list = (description: string, items: Schema, more: More = {}): Schema => ({
  type: 'array',
  description,
  items,
  ...more,
});
/** `Always`, `Never`, or a duration as in Go. The words are not `on` and `off`, which are booleans in YAML. */
export const autonomyField = (description: string): Schema =>
  text(description, { pattern: '^(Always|Never|([0-9]+(ms|s|m|h))+)$', maxLength: 32 });
/** The schema of a whole object with spec and, unless the kind has none, status. */
export const wholeObject = (
  description: string,
  spec: Schema,
  status: Schema | undefined,
  more: More = {},
): Schema =>
  object(
    description,
    {
      apiVersion: text('API group and version of the object.'),
      kind: text('Kind of the object.'),
      metadata: { type: 'object' },
      spec,
      ...(status && { status }),
    },
    more,
  );
/** A list of the type `map`: entries are identified by `key`, so that several writers can own entries. */
export const listMap = (description: string, key: string, items: Schema): Schema =>
  list(description, items, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });
export const textMap = (description: string, more: More = {}): Schema => ({
  type: 'object',
  description,
  additionalProperties: { type: 'string' },
  ...more,
});
/** An arbitrary object, of which all fields are kept. */
export const anything = (description: string): Schema => ({
  type: 'object',
  description,
  'x-kubernetes-preserve-unknown-fields': true,
});

export const labelSelector = (description: string): Schema =>
  object(description, {
    matchLabels: textMap('Labels that must all be present.'),
    matchExpressions: list(
      'Requirements that must all be met.',
      object(
        'A requirement for one label.',
        {
          key: text('Label key.'),
          operator: text('Relation of the label to the values.', {
            enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
          }),
          values: list('Values for the operators In and NotIn.', { type: 'string' }),
        },
        { required: ['key', 'operator'] },
      ),
    ),
  });

export const conditions = (description: string): Schema =>
  listMap(
    description,
    'type',
    object(
      'A condition.',
      {
        type: text('Type of the condition.'),
        status: text('Status of the condition: True, False or Unknown.', {
          enum: ['True', 'False', 'Unknown'],
        }),
        reason: text('Machine-readable reason in CamelCase.'),
        message: text('Human-readable explanation.'),
        lastTransitionTime: text('Time at which the status last changed.', { format: 'date-time' }),
        observedGeneration: {
          type: 'integer',
          format: 'int64',
          description: 'Generation of the spec that the condition was computed from.',
        },
      },
      { required: ['type', 'status'] },
    ),
  );

export interface PrinterColumn {
  name: string;
  type: 'string' | 'integer' | 'date';
  jsonPath: string;
  description?: string;
  priority?: number;
}

export const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
};

export interface DefinitionOptions {
  group: string;
  kind: string;
  plural: string;
  shortNames: string[];
  scope: 'Cluster' | 'Namespaced';
  /** The last version is the storage version. */
  versions: readonly string[];
  schema: Schema;
  columns: readonly PrinterColumn[];
  /** Default: true. */
  hasStatus?: boolean;
}

export type CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinition';
  metadata: Metadata;
  spec: Record<string, unknown>;
};

export function definition(options: DefinitionOptions): CustomResourceDefinition {
  const { group, kind, plural, shortNames, scope, versions, schema, columns, hasStatus = true } = options;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === versions.length - 1,
        ...(hasStatus && { subresources: { status: {} } }),
        schema: { openAPIV3Schema: schema },
        additionalPrinterColumns: columns,
      })),
    },
  };
}

/** The name of a pool is used as a label value on its nodes. */
export const nameFitsLabel: ValidationRule = {
  rule: 'size(self.metadata.name) <= 63',
  message: 'metadata.name is used as a label value on nodes: use at most 63 characters',
};
