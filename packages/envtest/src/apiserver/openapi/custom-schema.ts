/** The published schema of a custom resource: with the standard fields, and with the implications of extensions written out. */
import { loadDescriptions } from '../schema/generated.ts';
import type { Schema } from '../schema/types.ts';
import { type Gvk, gvkExtension, META, typeMetaDescription } from './common.ts';

type Json = Record<string, unknown>;

export function customSchema(schema: Schema, gvk: Gvk): Json {
  const { properties, ...rest } = spelledOut(schema) as { properties?: Json };
  return { ...rest, properties: { ...properties, ...metaProperties() }, ...gvkExtension(gvk) };
}

const metaProperties = (): Json => ({
  apiVersion: { description: typeMetaDescription('apiVersion'), type: 'string' },
  kind: { description: typeMetaDescription('kind'), type: 'string' },
  metadata: {
    description: loadDescriptions()['io.k8s.api.core.v1.Pod']?.metadata,
    allOf: [{ $ref: `#/components/schemas/${META}.ObjectMeta` }],
  },
});

const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }];

function spelledOut(schema: Schema): Json {
  const { properties, items, additionalProperties, ...own } = schema;
  const isResource = schema['x-kubernetes-embedded-resource'] === true;
  const fields: Json | undefined =
    properties === undefined
      ? undefined
      : Object.fromEntries(Object.entries(properties).map(([key, property]) => [key, spelledOut(property)]));
  return {
    ...own,
    ...(schema['x-kubernetes-int-or-string'] === true ? { anyOf: own.anyOf ?? INT_OR_STRING } : {}),
    ...(isResource ? { required: [...new Set([...(own.required ?? []), 'kind', 'apiVersion'])] } : {}),
    ...(isResource ? { properties: { ...fields, ...metaProperties() } } : fields && { properties: fields }),
    ...(items === undefined ? {} : { items: spelledOut(items) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'object'
              ? spelledOut(additionalProperties)
              : additionalProperties,
        }),
  };
}
