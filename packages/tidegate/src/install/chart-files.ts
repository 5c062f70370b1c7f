/** The files of the chart that follow from the list of values. scripts/generate-deploy.js writes them. */
import { stringify } from 'yaml';
import type { ValueDefinition } from './values.ts';

/** values.yaml: every value with its default, below its description. */
export function valuesFile(definitions: readonly ValueDefinition[]): string {
  const lines: string[] = [];
  const open: string[] = [];
  for (const { path, description, default: value } of grouped(definitions)) {
    const names = path.split('.');
    const name = names.pop() ?? '';
    const shared = names.every((group, index) => open[index] === group) ? names.length : 0;
    names.slice(shared).forEach((group, index) => {
      lines.push(`${indent(shared + index)}${group}:`);
    });
    open.splice(0, open.length, ...names);
    lines.push(`${indent(names.length)}# ${description}`);
    const text = stringify({ [name]: value }, { lineWidth: 0, version: '1.1' }).trimEnd();
    lines.push(...text.split('\n').map((line) => indent(names.length) + line));
  }
  return `${lines.join('\n')}\n`;
}

/** values.schema.json, which Helm checks values with. */
export function valuesSchema(definitions: readonly ValueDefinition[]): object {
  const root: Group = { type: 'object', additionalProperties: false, required: [], properties: {} };
  for (const definition of definitions) {
    const names = definition.path.split('.');
    const name = names.pop() ?? '';
    let group = root;
    for (const each of names) group = groupIn(group, each);
    addTo(group, name, propertyOf(definition), definition.type !== 'object');
  }
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...root };
}

interface Group {
  type: 'object';
  additionalProperties: false;
  required: string[];
  properties: Record<string, object>;
}

function groupIn(group: Group, name: string): Group {
  if (group.properties[name] === undefined)
    addTo(group, name, { type: 'object', additionalProperties: false, required: [], properties: {} });
  return group.properties[name] as Group;
}

/** Helm removes a value that is null before it checks the schema. Only maps can be null. */
function addTo(group: Group, name: string, property: object, isRequired = true): void {
  group.properties[name] = property;
  if (isRequired) group.required.push(name);
}

const propertyOf = ({ type, description, pattern, choices, minimum }: ValueDefinition): object => ({
  type: type === 'object' ? ['object', 'null'] : type,
  description,
  ...(pattern !== undefined && { pattern }),
  ...(choices !== undefined && { enum: choices }),
  ...(minimum !== undefined && { minimum }),
});

/** Values of one group are next to each other, in the order in which the groups first appear. */
function grouped(definitions: readonly ValueDefinition[]): ValueDefinition[] {
  const groups = [...new Set(definitions.map(({ path }) => path.split('.')[0]))];
  return groups.flatMap((group) => definitions.filter(({ path }) => path.split('.')[0] === group));
}

const indent = (depth: number): string => '  '.repeat(depth);
