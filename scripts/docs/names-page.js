// docs/reference/labels-and-annotations.md, from names.ts and name-reference.ts in packages/tidegate/src/api.
import { cell, code, generatedBy, page, table } from './markdown.js';

const INTRODUCTION = `This page lists every label, annotation and finalizer that Tidegate reads or writes, and the names by which its programs
are known to the API server.

Names of OpenYurt, KubeEdge, Kubernetes and Kuryr keep their original meaning, so that manifests work unchanged.`;

/** Sections by the end of the constant's name. */
const SECTIONS = [
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
    ...referenceSection(values.NAME_REFERENCE, 'label', 'Labels', 'Label'),
    ...referenceSection(values.NAME_REFERENCE, 'annotation', 'Annotations', 'Annotation'),
    ...SECTIONS.flatMap(([pattern, title, heading]) => {
      const rows = names
        .filter(({ constant }) => pattern.test(constant))
        .map(({ value, meaning }) => [code(value), cell(meaning)])
        .toSorted(([a], [b]) => (a < b ? -1 : 1));
      return rows.length === 0 ? [] : [`## ${title}`, table([heading, 'Meaning'], rows)];
    }),
  );
}

/** Labels and annotations have a table of their own in the source, with more than a comment can hold. */
function referenceSection(references, type, title, heading) {
  const rows = references
    .filter((each) => each.type === type)
    .map(({ name, kinds, values, meaning, setBy, dialect }) =>
      [code(name), kinds.join(', '), values, meaning, setBy, dialect].map(cell),
    )
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [`## ${title}`, table([heading, 'On', 'Values', 'Meaning', 'Set by', 'From'], rows)];
}

const valueText = (value) =>
  typeof value === 'object' && 'namespace' in value ? `${value.namespace}/${value.name}` : value;
