// Writes structs.json, fields.json and numbers.json from a source tree of Kubernetes; see README.md.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readModels, shortName } from '../models.js';
import { readGoTypes } from './go-types.js';

const SCALARS = new Set(['string', 'bool', 'int', 'int32', 'int64', 'float64']);
/** Named types of other packages that are not structs. */
const NAMED = new Map([
  ['types.UID', 'string'],
  ['types.NodeName', 'string'],
]);
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const { positionals } = parseArgs({ allowPositionals: true });
const [root] = positionals;
if (root === undefined) throw new Error('usage: read.js DIRECTORY, a source tree of Kubernetes');
const { types, constants } = readGoTypes(root);

const scopeOf = (definition) => definition.slice(0, definition.lastIndexOf('.'));
const typeName = (definition) => definition.slice(definition.lastIndexOf('.') + 1);

/** The definition that a Go type names: in the same package, in meta/v1, or in core/v1. */
function definitionOf(definition, type) {
  const [alias, name] = type.split('.');
  if (name === undefined) return `${scopeOf(definition)}.${type}`;
  return alias === 'metav1' ? `${META}.${name}` : `io.k8s.api.core.v1.${name}`;
}

const isTypeMeta = ({ type }) => type.split('.').at(-1) === 'TypeMeta';

/** The fields in JSON, with those of embedded structs. */
function fieldsOf(definition) {
  return types.get(definition).fields.flatMap((field) => {
    if (!field.inline) return field.json === '' || field.json === '-' ? [] : [{ ...field, definition }];
    return isTypeMeta(field) ? [] : fieldsOf(definitionOf(definition, field.type));
  });
}

/** 'string' and so on for scalars and named scalars; undefined for everything else. */
function scalarOf(definition, type) {
  if (SCALARS.has(type)) return type;
  const base = NAMED.get(type) ?? types.get(definitionOf(definition, type))?.base;
  return SCALARS.has(base) ? base : undefined;
}

function shownName(definition, type) {
  if (SCALARS.has(type) || scalarOf(definition, type) !== 'string') return undefined;
  return NAMED.has(type) ? type : definitionOf(definition, type).split('.').slice(-2).join('.');
}

function isStruct(definition, type) {
  if (/^(\*|\[\]|map\[)/.test(type) || scalarOf(definition, type) !== undefined) return false;
  const known = types.get(definitionOf(definition, type));
  // Types of other packages, for example resource.Quantity, are structs too. ResourceList and others are named maps.
  return known === undefined || known.fields !== undefined;
}

function marksOf(definition, required) {
  const marks = fieldsOf(definition).map((field) => {
    const { json, definition: owner } = field;
    const type = field.type.replace(/^\*/, '');
    const isPointer = type !== field.type;
    const item = type.replace(/^\[\]/, '');
    const name = shownName(owner, item);
    const how = isPointer
      ? scalarOf(owner, type) === undefined
        ? ''
        : '*'
      : isStruct(owner, type)
        ? field.omitzero
          ? ''
          : '{}'
        : field.omitempty === required.has(json)
          ? field.omitempty
            ? '?'
            : '!'
          : '';
    return { json, mark: `${json}${how}${name === undefined ? '' : `:${name}`}` };
  });
  return marks
    .filter(({ json, mark }) => mark !== json)
    .sort((a, b) => (a.json < b.json ? -1 : 1))
    .map(({ mark }) => mark)
    .join(' ');
}

/** A default is a value in JSON or `ref(Constant)`. */
function defaultOf(definition, text) {
  const constant = /^ref\((\w+)\)$/.exec(text)?.[1];
  return constant === undefined ? JSON.parse(text) : constants.get(`${scopeOf(definition)}.${constant}`);
}

function mergeFacts(field) {
  const values = (key) =>
    field.markers.filter((m) => m.startsWith(`${key}=`)).map((m) => m.slice(key.length + 1));
  const [listType] = values('listType');
  const keys = values('listMapKey');
  const [mapType] = [...values('mapType'), ...values('structType')];
  const [text] = values('default');
  return {
    ...(listType !== undefined && listType !== 'atomic' && { 'x-kubernetes-list-type': listType }),
    ...(keys.length > 0 && { 'x-kubernetes-list-map-keys': keys }),
    ...(mapType !== undefined && { 'x-kubernetes-map-type': mapType }),
    ...(field.patchStrategy && { 'x-kubernetes-patch-strategy': field.patchStrategy }),
    ...(field.patchMergeKey && { 'x-kubernetes-patch-merge-key': field.patchMergeKey }),
    ...(text !== undefined && { default: defaultOf(field.definition, text) }),
  };
}

function numbersOf(definition) {
  let last = 0;
  return types
    .get(definition)
    .fields.filter(({ number }) => number > 0)
    .sort((a, b) => a.number - b.number)
    .map((field) => {
      const name = field.inline ? `>${typeName(definitionOf(definition, field.type))}` : field.json;
      const shown = field.number === last + 1 ? name : `${field.number}=${name}`;
      last = field.number;
      return shown;
    })
    .join(' ');
}

const structs = {};
const fields = {};
const numbers = {};

function addNumbers(definition) {
  if (numbers[shortName(definition)] !== undefined) return;
  numbers[shortName(definition)] = numbersOf(definition);
  for (const field of types.get(definition).fields) {
    if (field.inline && field.number > 0) addNumbers(definitionOf(definition, field.type));
  }
}

for (const [definition, { schema }] of readModels()) {
  const type = types.get(definition);
  if (schema.properties === undefined && type?.fields?.length !== 0) continue;
  if (type?.fields === undefined) throw new Error(`${definition} is not in ${root}`);
  const short = shortName(definition);
  const marks = marksOf(definition, new Set(schema.required));
  if (marks !== '') structs[short] = marks;
  if (type.markers.includes('structType=atomic')) fields[short] = { 'x-kubernetes-map-type': 'atomic' };
  for (const field of fieldsOf(definition)) {
    const facts = mergeFacts(field);
    if (Object.keys(facts).length > 0) fields[`${short}.${field.json}`] = facts;
  }
  addNumbers(definition);
}

const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
for (const [name, facts] of Object.entries({ structs, fields, numbers })) {
  const file = join(import.meta.dirname, `${name}.json`);
  writeFileSync(file, `${JSON.stringify(sorted(facts), null, 2)}\n`);
}
