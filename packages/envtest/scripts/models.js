// Reads the npm package kubernetes-models: a .d.ts file and a compiled validator for each type of the Kubernetes API. The
// .d.ts files have the fields, their types, enums and descriptions. Only the validators know whether a `number` is an
// int32, int64 or double, and which strings are base64.
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { corrections, kinds, types } from './schema-facts.js';

export const modelsDir = dirname(fileURLToPath(import.meta.resolve('kubernetes-models')));
const machineryDir = join(modelsDir, '../@kubernetes-models/apimachinery');

const SHORT_PREFIX = 'io.k8s.api.';
/** The name of a definition in the files with facts. */
export const shortName = (name) => (name.startsWith(SHORT_PREFIX) ? name.slice(SHORT_PREFIX.length) : name);

/** Groups whose types are not in k8s.io/api. */
const OTHER_PROJECTS = { apiextensions: 'apiextensions-apiserver', apiregistration: 'kube-aggregator' };

/** Converts `apps/v1/Deployment` below the package to `io.k8s.api.apps.v1.Deployment`. */
function definitionName(file) {
  if (file.startsWith(machineryDir)) {
    return `io.k8s.apimachinery.pkg.${relative(machineryDir, file).replaceAll('/', '.')}`;
  }
  const path = relative(modelsDir, file).split('/');
  const [group, version, type] = path.length === 2 ? ['core', ...path] : path;
  const packageName = group.split('.')[0];
  const project = OTHER_PROJECTS[packageName];
  return project === undefined
    ? `io.k8s.api.${packageName}.${version}.${type}`
    : `io.k8s.${project}.pkg.apis.${packageName}.${version}.${type}`;
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
    schema.properties[field] = { ...property, ...corrections[`${shortName(name)}.${field}`] };
    if (member.questionToken === undefined && !typeMeta) required.push(field);
    if (!typeMeta) described(field, member);
  }
  if (required.length > 0) schema.required = required;
  return { name, schema, descriptions, references };
}

/** `apps/v1/Deployment` -> `io.k8s.api.apps.v1.Deployment`, for all kinds. */
export function kindNames() {
  const names = {};
  for (const [groupVersion, kindsOfGroup] of Object.entries(kinds)) {
    for (const kind of kindsOfGroup.split(' ')) {
      names[`${groupVersion.replace(/^core\//, '')}/${kind}`] = definitionName(fileOf(groupVersion, kind));
    }
  }
  return names;
}

/** All kinds and the types that they refer to: definition name -> { schema, descriptions }. */
export function readModels() {
  const models = new Map();
  const queue = Object.entries(kinds).flatMap(([groupVersion, names]) =>
    names.split(' ').map((kind) => fileOf(groupVersion, kind)),
  );
  for (const file of queue) {
    if (models.has(definitionName(file))) continue;
    const { name, schema, descriptions, references } = readType(file);
    models.set(name, { schema, descriptions });
    queue.push(...references);
  }
  return models;
}
