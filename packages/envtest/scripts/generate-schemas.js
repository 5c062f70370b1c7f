// Converts the npm package kubernetes-models (a .d.ts file and a compiled validator for each type of the Kubernetes
// API) to the schemas of the built-in kinds:
//
//   dist/schemas/definitions.json    schemas by name, without descriptions and with references as `$ref: name`; how
//                                    structs are written, by the same names; the name of each kind
//   dist/schemas/descriptions.json   name -> { '': text of the type, field: text of the field }, for `kubectl explain`
//
// The .d.ts files have the fields, their types, enums and descriptions. Only the validators know whether a `number` is
// an int32, int64 or double, and which strings are base64. schema-facts.js and go-facts.js have the rest.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { structs } from './go-facts.js';
import { atomicTypes, fields, kinds, types } from './schema-facts.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const modelsDir = dirname(fileURLToPath(import.meta.resolve('kubernetes-models')));
const machineryDir = join(modelsDir, '../@kubernetes-models/apimachinery');
const outDir = join(root, 'dist/schemas');

const SHORT_PREFIX = 'io.k8s.api.';
const factName = (name) => (name.startsWith(SHORT_PREFIX) ? name.slice(SHORT_PREFIX.length) : name);

/** Converts `apps/v1/Deployment` below the package to `io.k8s.api.apps.v1.Deployment`. */
function definitionName(file) {
  if (file.startsWith(machineryDir)) {
    return `io.k8s.apimachinery.pkg.${relative(machineryDir, file).replaceAll('/', '.')}`;
  }
  const path = relative(modelsDir, file).split('/');
  const [group, version, type] = path.length === 2 ? ['core', ...path] : path;
  const packageName = group.split('.')[0];
  return packageName === 'apiextensions'
    ? `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.${version}.${type}`
    : `io.k8s.api.${packageName}.${version}.${type}`;
}

function fileOf(groupVersion, kind) {
  const [group, version] = groupVersion.split('/');
  if (group === 'meta') return join(machineryDir, 'apis/meta', version, kind);
  return group === 'core' ? join(modelsDir, version, kind) : join(modelsDir, group, version, kind);
}

const validatorFile = (file) => {
  const name = definitionName(file)
    .split(/[.-]/)
    .map((part) => part[0].toUpperCase() + part.slice(1))
    .join('');
  return join(file.startsWith(machineryDir) ? machineryDir : modelsDir, '_schemas', `${name}.js`);
};

/**
 * Reads a compiled validator: for every field, whether its numbers are integers, and the format of its leaves. Each
 * field has its own function, which can call others of the same file for items and map values.
 */
function leavesOf(file) {
  const text = readFileSync(validatorFile(file), 'utf8');
  const formats = new Map();
  for (const [, variable, format] of text.matchAll(/let (formats\d+)=formats\.([\w-]+)/g)) {
    formats.set(variable, format);
  }
  const bodies = new Map();
  for (const part of text.split(/(?=function validate\d+\()/)) {
    const name = /^function (validate\d+)\(/.exec(part)?.[1];
    if (name !== undefined) bodies.set(name, part);
  }
  const leafOf = (name, seen) => {
    const body = bodies.get(name);
    if (body === undefined || seen.has(name)) return {};
    seen.add(name);
    const variable = /(formats\d+)\.validate/.exec(body)?.[1];
    const own = {
      ...(body.includes('params:{type:"integer"}') ? { integer: true } : {}),
      ...(variable === undefined ? {} : { format: formats.get(variable) }),
    };
    const called = [...body.matchAll(/(validate\d+)\(data\[/g)].map(([, callee]) => leafOf(callee, seen));
    return Object.assign({}, ...called, own);
  };
  const leaves = new Map();
  for (const [, name, field, quoted] of text.matchAll(
    /(validate\d+)\(data(?:\.([\w$]+)|\["([^"]+)"\]),\{instancePath:instancePath\+"/g,
  )) {
    leaves.set(field ?? quoted, leafOf(name, new Set()));
  }
  return leaves;
}

/** The text of the comment before a node, without asterisks and escapes. */
function commentOf(node, source) {
  const comment = ts.getLeadingCommentRanges(source.text, node.getFullStart())?.at(-1);
  if (comment === undefined) return undefined;
  return source.text
    .slice(comment.pos + 3, comment.end - 2)
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .replaceAll('\\*', '*')
    .replaceAll('*\\/', '*/')
    .replace(/\n@deprecated\s*$/, '')
    .trim();
}

/** Alias -> file, for all imports of a .d.ts file. */
function importsOf(source, file) {
  const files = new Map();
  for (const statement of source.statements.filter(ts.isImportDeclaration)) {
    const from = statement.moduleSpecifier.text.replace(/\.js$/, '');
    const target = from.startsWith('.')
      ? join(dirname(file), from)
      : join(machineryDir, from.replace('@kubernetes-models/apimachinery/', ''));
    for (const name of statement.importClause?.namedBindings?.elements ?? [])
      files.set(name.name.text, target);
  }
  return files;
}

function readType(file) {
  const source = ts.createSourceFile(
    file,
    readFileSync(`${file}.d.ts`, 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const type = `I${file.split('/').at(-1)}`;
  const imports = importsOf(source, file).set(type, file);
  const declaration = source.statements.find(
    (s) => (ts.isInterfaceDeclaration(s) || ts.isTypeAliasDeclaration(s)) && s.name.text === type,
  );
  const name = definitionName(file);
  const descriptions = {};
  const described = (key, node) => {
    const text = commentOf(node, source);
    if (text) descriptions[key] = text;
  };
  described('', declaration);
  const special = types[name];
  if (special !== undefined) return { name, schema: special, descriptions, references: [] };

  const references = [];
  const leaves = leavesOf(file);
  const schemaOf = (node, leaf) => {
    if (ts.isTypeReferenceNode(node)) {
      const alias = node.typeName.text;
      if (alias === 'Array') return { type: 'array', items: schemaOf(node.typeArguments[0], leaf) };
      const target = imports.get(alias);
      references.push(target);
      return { $ref: definitionName(target) };
    }
    if (ts.isTypeLiteralNode(node)) {
      const [member] = node.members;
      if (!ts.isIndexSignatureDeclaration(member)) return {};
      return { type: 'object', additionalProperties: schemaOf(member.type, leaf) };
    }
    if (node.kind === ts.SyntaxKind.BooleanKeyword) return { type: 'boolean' };
    const format = leaf.format === undefined ? {} : { format: leaf.format };
    if (node.kind === ts.SyntaxKind.NumberKeyword) {
      return { type: leaf.integer ? 'integer' : 'number', ...format };
    }
    if (node.kind === ts.SyntaxKind.StringKeyword) return { type: 'string', ...format };
    const literals = ts.isUnionTypeNode(node) ? node.types : [node];
    return { type: 'string', enum: literals.map((l) => l.literal.text) };
  };

  const isKind = declaration.heritageClauses !== undefined;
  const schema = { type: 'object' };
  const required = [];
  for (const member of declaration.members ?? []) {
    const field = member.name.text;
    const typeMeta = isKind && (field === 'kind' || field === 'apiVersion');
    schema.properties ??= {};
    const property = typeMeta ? { type: 'string' } : schemaOf(member.type, leaves.get(field) ?? {});
    if (property.type === 'array') property['x-kubernetes-list-type'] = 'atomic';
    schema.properties[field] = { ...property, ...fields[`${factName(name)}.${field}`] };
    if (member.questionToken === undefined && !typeMeta) required.push(field);
    if (!typeMeta) described(field, member);
  }
  if (required.length > 0) schema.required = required;
  if (atomicTypes.includes(factName(name))) schema['x-kubernetes-map-type'] = 'atomic';
  return { name, schema, descriptions, references };
}

/** How a struct writes its fields; see go-facts.js for the marks. */
function structOf(name, schema) {
  const required = new Set(schema.required);
  const keepZero = new Set(required);
  const write = new Set([...required].filter((field) => isScalar(schema.properties[field])));
  const names = {};
  for (const mark of structs[factName(name)]?.trim().split(/\s+/) ?? []) {
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

/** A hash of all inputs. It is stored next to the output, so that an unchanged build does nothing. */
function stamp() {
  const hash = createHash('sha256');
  for (const file of ['generate-schemas.js', 'schema-facts.js', 'go-facts.js'])
    hash.update(readFileSync(join(root, 'scripts', file)));
  return hash.update(readFileSync(join(modelsDir, 'package.json'))).digest('hex');
}

export function generateSchemas() {
  const stampFile = join(outDir, 'stamp');
  const current = stamp();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === current) return;

  const definitions = {};
  const descriptions = {};
  const structFacts = {};
  const kindNames = {};
  const queue = [];
  for (const [groupVersion, names] of Object.entries(kinds)) {
    for (const kind of names.split(' ')) {
      const file = fileOf(groupVersion, kind);
      kindNames[`${groupVersion.replace(/^core\//, '')}/${kind}`] = definitionName(file);
      queue.push(file);
    }
  }
  for (const file of queue) {
    const name = definitionName(file);
    if (definitions[name] !== undefined) continue;
    const type = readType(file);
    definitions[name] = type.schema;
    descriptions[name] = type.descriptions;
    if (type.schema.properties !== undefined) structFacts[name] = structOf(name, type.schema);
    queue.push(...type.references);
  }
  mkdirSync(outDir, { recursive: true });
  writeFileSync(
    join(outDir, 'definitions.json'),
    JSON.stringify({ kinds: kindNames, definitions, structs: structFacts }),
  );
  writeFileSync(join(outDir, 'descriptions.json'), JSON.stringify(descriptions));
  writeFileSync(stampFile, current);
}
