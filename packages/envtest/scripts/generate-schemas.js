// Generates the schemas of the built-in kinds from the npm package kubernetes-models (models.js) and from the facts that
// it lacks (schema-facts.js and facts/):
//
//   dist/schemas/definitions.json     schemas by name, without descriptions and with references as `$ref: name`; how
//                                     structs are written, by the same names; the name of each kind
//   dist/schemas/descriptions.json    name -> { '': text of the type, field: text of the field }, for `kubectl explain`
//   dist/schemas/field-numbers.json   name -> the numbers of its fields in protobuf
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kindNames, modelsDir, readModels, shortName } from './models.js';

const outDir = join(import.meta.dirname, '../dist/schemas');

const INPUTS = [
  'generate-schemas.js',
  'models.js',
  'schema-facts.js',
  'facts/structs.json',
  'facts/fields.json',
  'facts/numbers.json',
];
const readFacts = (name) => JSON.parse(readFileSync(join(import.meta.dirname, `facts/${name}.json`), 'utf8'));
const structs = readFacts('structs');
const fields = readFacts('fields');
const numbers = readFacts('numbers');

/** How a struct writes its fields; see facts/README.md for the marks. */
function structOf(name, schema) {
  const required = new Set(schema.required);
  const keepZero = new Set(required);
  const write = new Set([...required].filter((field) => isScalar(schema.properties[field])));
  const names = {};
  for (const mark of structs[shortName(name)]?.trim().split(/\s+/) ?? []) {
    const [, field, how, typeName] = /^([^*{!?:]+)(\*|\{\}|!|\?)?(?::(.+))?$/.exec(mark);
    if (typeName !== undefined) names[field] = typeName;
    if (how === '*') keepZero.add(field);
    if (how === '*' || how === '?') write.delete(field);
    if (how === '?') keepZero.delete(field);
    if (how === '{}' || how === '!') {
      keepZero.add(field);
      write.add(field);
    }
  }
  return { keepZero: [...keepZero], write: [...write], names };
}

const isScalar = (schema) => ['string', 'integer', 'boolean', 'number'].includes(schema.type);

/** Adds how lists, maps and structs merge, and defaults. */
function withFacts(name, schema) {
  const short = shortName(name);
  const properties = Object.entries(schema.properties ?? {}).map(([field, property]) => {
    const own = property.type === 'array' ? { 'x-kubernetes-list-type': 'atomic' } : {};
    return [field, { ...property, ...own, ...fields[`${short}.${field}`] }];
  });
  return {
    ...schema,
    ...(schema.properties && { properties: Object.fromEntries(properties) }),
    ...fields[short],
  };
}

/** A hash of all inputs. It is stored next to the output, so that an unchanged build does nothing. */
function stamp() {
  const hash = createHash('sha256');
  for (const file of INPUTS) hash.update(readFileSync(join(import.meta.dirname, file)));
  return hash.update(readFileSync(join(modelsDir, 'package.json'))).digest('hex');
}

export function generateSchemas() {
  const stampFile = join(outDir, 'stamp');
  const current = stamp();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === current) return;

  const definitions = {};
  const descriptions = {};
  const structFacts = {};
  for (const [name, model] of readModels()) {
    const schema = withFacts(name, model.schema);
    definitions[name] = schema;
    descriptions[name] = model.descriptions;
    if (schema.properties !== undefined) structFacts[name] = structOf(name, schema);
  }
  mkdirSync(outDir, { recursive: true });
  const write = (name, content) => writeFileSync(join(outDir, name), JSON.stringify(content));
  write('definitions.json', { kinds: kindNames(), definitions, structs: structFacts });
  write('descriptions.json', descriptions);
  write('field-numbers.json', numbers);
  writeFileSync(stampFile, current);
}
