// docs/reference/kinds.md, from the schemas of the custom resources.
import { cell, code, generatedBy, page, table } from './markdown.js';

const INTRODUCTION = `This page lists every field of the custom resources that Tidegate serves. \`kubectl explain\` shows the same
descriptions in a cluster. The definitions are in \`deploy/crds\`.`;

export function kindsPage(definitions) {
  return page(
    generatedBy('the schemas in packages/tidegate/src/api'),
    '# Custom resources',
    INTRODUCTION,
    table(
      ['Kind', 'API group', 'Versions', 'Scope', 'Short name'],
      definitions.map(({ spec }) => [
        `[${spec.names.kind}](#${spec.names.kind.toLowerCase()})`,
        code(spec.group),
        spec.versions.map(({ name }) => name).join(', '),
        spec.scope,
        spec.names.shortNames.map(code).join(', '),
      ]),
    ),
    ...definitions.flatMap(section),
  );
}

function section({ spec }) {
  const stored = spec.versions.find(({ storage }) => storage);
  const schema = stored.schema.openAPIV3Schema;
  const { apiVersion: _a, kind: _k, metadata: _m, ...rest } = schema.properties;
  const { status, ...written } = rest;
  const rows = fields(written, schema.required ?? [], '');
  return [
    `## ${spec.names.kind}`,
    `${schema.description} \`${spec.group}/${stored.name}\`, ${spec.scope === 'Cluster' ? 'cluster-scoped' : 'namespaced'}.`,
    table(['Field', 'Type', 'Description'], rows),
    ...rules(schema),
    ...(status === undefined
      ? []
      : ['Tidegate writes the status:', table(['Field', 'Type', 'Description'], fields({ status }, [], ''))]),
  ];
}

/** One row for each field, depth first, named by its path. */
function fields(properties, required, prefix) {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const row = [code(path), typeOf(schema), description(schema, required.includes(name))];
    const inner = schema.items ?? schema;
    const below = inner.properties;
    // Conditions are the same everywhere and known from Kubernetes.
    if (below === undefined || name === 'conditions') return [row];
    return [row, ...fields(below, inner.required ?? [], `${path}${schema.items === undefined ? '' : '[]'}.`)];
  });
}

function typeOf(schema) {
  if (schema['x-kubernetes-int-or-string']) return 'integer or string';
  if (schema.items !== undefined) return `list of ${plural(schema.items)}`;
  if (schema.additionalProperties !== undefined) return 'map';
  return schema.type ?? 'any';
}

const plural = ({ type, ...schema }) =>
  schema['x-kubernetes-int-or-string'] ? 'integers or strings' : type === undefined ? 'any' : `${type}s`;

function description(schema, isRequired) {
  const limits = [
    isRequired ? 'Required.' : undefined,
    schema.enum === undefined ? undefined : `One of ${schema.enum.map(code).join(', ')}.`,
    schema.default === undefined ? undefined : `Default: ${code(valueText(schema.default))}.`,
    range(schema),
    schema.maxItems === undefined ? undefined : `At most ${schema.maxItems} entries.`,
    schema.maxProperties === undefined ? undefined : `At most ${schema.maxProperties} entries.`,
  ];
  return [cell(schema.description), ...limits.filter((text) => text !== undefined)].join(' ').trim();
}

const valueText = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

function range({ minimum, maximum }) {
  if (minimum !== undefined && maximum !== undefined) return `From ${minimum} to ${maximum}.`;
  if (minimum !== undefined) return `At least ${minimum}.`;
  return maximum === undefined ? undefined : `At most ${maximum}.`;
}

/** The rules that the API server checks, with the message that a user sees. */
function rules(schema) {
  const found = [];
  collect(schema, '', found);
  if (found.length === 0) return [];
  return [
    'Rules:',
    found.map(({ path, message }) => `- ${path === '' ? '' : `${code(path)}: `}${message}`).join('\n'),
  ];
}

function collect(schema, path, found) {
  for (const { message, fieldPath = '' } of schema['x-kubernetes-validations'] ?? []) {
    const rule = { path: `${path}${fieldPath}`.replace(/^\./, ''), message };
    if (!found.some((each) => each.path === rule.path && each.message === rule.message)) found.push(rule);
  }
  if (schema.items !== undefined) collect(schema.items, `${path}[]`, found);
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    collect(inner, `${path}.${name}`, found);
}
