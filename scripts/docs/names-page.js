// docs/reference/labels-and-annotations.md, from the constants and comments in packages/tidegate/src/api/names.ts.
import { cell, code, generatedBy, page, table } from './markdown.js';

const INTRODUCTION = `This page lists every label, annotation and finalizer that Tidegate reads or writes, and the names by which its programs
are known to the API server.

The annotations of Ingresses, with their values and defaults, are described in
[Classes and routers](../guides/classes-and-routers.md#annotations-on-ingresses).`;

/** Sections by the end of the constant's name. */
const SECTIONS = [
  [/_LABEL$/, 'Labels', 'Label'],
  [/_ANNOTATION$/, 'Annotations', 'Annotation'],
  [/_FINALIZER$/, 'Finalizers', 'Finalizer'],
  [/_(?:NAMESPACE|CONFIG_MAP)$/, 'Objects', 'Name'],
  [/_(?:CONTROLLER|ANNOTATION)_PREFIX$/, 'Prefixes', 'Prefix'],
  [/_FIELD_MANAGER$/, 'Field managers', 'Name'],
  [/_USER_AGENT$/, 'User agents', 'Name'],
];

/** `values` are the exports of the module: a constant may be computed. */
export function namesPage(source, values) {
  const names = [...source.matchAll(/(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?export const (\w+)/g)].map(
    ([, comment = '', constant]) => ({
      constant,
      value: valueText(values[constant]),
      meaning: comment
        .replace(/^\s*\*/gm, '')
        .replace(/\s+/g, ' ')
        .trim(),
    }),
  );
  return page(
    generatedBy('packages/tidegate/src/api/names.ts'),
    '# Labels and annotations',
    INTRODUCTION,
    ...SECTIONS.flatMap(([pattern, title, heading]) => {
      const rows = names
        .filter(({ constant }) => pattern.test(constant))
        .map(({ value, meaning }) => [code(value), cell(meaning)])
        .toSorted(([a], [b]) => (a < b ? -1 : 1));
      return rows.length === 0 ? [] : [`## ${title}`, table([heading, 'Meaning'], rows)];
    }),
  );
}

const valueText = (value) =>
  typeof value === 'object' && 'namespace' in value ? `${value.namespace}/${value.name}` : value;
