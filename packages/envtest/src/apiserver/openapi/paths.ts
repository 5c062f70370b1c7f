/** The operations of a resource, with which clients find the kind of a path and its parameters. */
import type { ResourceDefinition, ServedVersion, Subresource, Verb } from '../resources/types.ts';
import type { Gvk } from './common.ts';
import type { SchemaWriter } from './schemas.ts';

type Json = Record<string, unknown>;

interface Served {
  definition: ResourceDefinition;
  version: ServedVersion;
}

export function pathsOf({ definition, version }: Served, writer: SchemaWriter): Json {
  const { group, plural, kind, namespaced } = definition;
  const root = group === '' ? `/api/${version.name}` : `/apis/${group}/${version.name}`;
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const names = writer.addKind(definition, version);
  const gvk = { group, version: version.name, kind };
  const operations = new Operations(definition, gvk);
  const can = (verb: Verb): boolean => definition.verbs.includes(verb);
  const shared = pathParameters(kind, namespaced);
  const paths: Json = {
    [collection]: {
      ...(can('list') && { get: operations.read('list', names.list) }),
      ...(can('create') && { post: operations.write('post', names.object) }),
      ...(can('deletecollection') && { delete: operations.read('deletecollection', undefined) }),
      parameters: shared.collection,
    },
  };
  if (namespaced && can('list')) {
    paths[`${root}/${plural}`] = { get: operations.read('list', names.list), parameters: [] };
  }
  if (can('get') || can('update')) {
    paths[`${collection}/{name}`] = {
      ...(can('get') && { get: operations.read('get', names.object) }),
      ...(can('update') && { put: operations.write('put', names.object) }),
      ...(can('delete') && { delete: operations.read('delete', undefined) }),
      ...(can('patch') && { patch: operations.patch(names.object) }),
      parameters: shared.item,
    };
  }
  for (const [name, subresource] of Object.entries(definition.subresources)) {
    paths[`${collection}/{name}/${name}`] = subresourcePath(
      name,
      subresource,
      definition,
      names.object,
      writer,
      shared.item,
    );
  }
  return paths;
}

function subresourcePath(
  name: string,
  subresource: Subresource,
  definition: ResourceDefinition,
  parent: string,
  writer: SchemaWriter,
  parameters: Json[],
): Json {
  const { group, version } = subresource;
  const gvk = { group, version, kind: subresource.kind };
  const schema = subresource.kind === definition.kind ? parent : writer.addOther(gvk);
  const operations = new Operations(definition, gvk);
  const can = (verb: Verb): boolean => subresource.verbs.includes(verb);
  if (subresource.connect !== undefined) {
    return {
      ...(can('get') && { get: operations.connect('get', name) }),
      ...(can('create') && { post: operations.connect('post', name) }),
      parameters,
    };
  }
  return {
    ...(can('get') && { get: operations.read('get', schema) }),
    ...(can('create') && { post: operations.write('post', schema) }),
    ...(can('update') && { put: operations.write('put', schema) }),
    ...(can('patch') && { patch: operations.patch(schema) }),
    parameters,
  };
}

/** The verbs in operation ids and descriptions. */
const WORDS: Record<string, string> = {
  connect: 'connect',
  list: 'list',
  get: 'read',
  post: 'create',
  put: 'replace',
  patch: 'patch',
  delete: 'delete',
  deletecollection: 'deleteCollection',
};

class Operations {
  readonly #definition: ResourceDefinition;
  readonly #gvk: Gvk;

  constructor(definition: ResourceDefinition, gvk: Gvk) {
    this.#definition = definition;
    this.#gvk = gvk;
  }

  read(action: 'list' | 'get' | 'delete' | 'deletecollection', schema: string | undefined): Json {
    const parameters = action === 'get' ? [] : action === 'list' ? LIST_PARAMETERS : DELETE_PARAMETERS;
    return { ...this.#common(action), parameters, responses: responses(schema) };
  }

  write(action: 'post' | 'put', schema: string | undefined): Json {
    const content = { '*/*': { schema: reference(schema) } };
    return {
      ...this.#common(action),
      parameters: WRITE_PARAMETERS,
      requestBody: { content, required: true },
      responses: responses(schema),
    };
  }

  patch(schema: string | undefined): Json {
    const types = ['apply-patch+yaml', 'json-patch+json', 'merge-patch+json'];
    // Custom resources have no merge keys, so they do not support strategic merge patches.
    if (!this.#definition.custom) types.push('strategic-merge-patch+json');
    const content = Object.fromEntries(
      types.map((type) => [`application/${type}`, { schema: { type: 'object' } }]),
    );
    return {
      ...this.#common('patch'),
      parameters: [...WRITE_PARAMETERS, FORCE],
      requestBody: { content, required: true },
      responses: responses(schema),
    };
  }

  /** The response of a connect is a stream, not an object. */
  connect(method: 'get' | 'post', subresource: string): Json {
    const { operationId, ...common } = this.#common('connect');
    return {
      ...common,
      description: `connect ${method.toUpperCase()} requests to ${subresource} of ${this.#definition.kind}`,
      operationId: `${operationId}${capitalized(subresource)}${capitalized(method)}`,
      parameters: [],
      responses: {
        200: { description: 'OK', content: { '*/*': { schema: { type: 'string' } } } },
        401: { description: 'Unauthorized' },
      },
    };
  }

  #common(action: string): Json {
    const { kind, namespaced } = this.#definition;
    const group = this.#gvk.group === '' ? 'core' : this.#gvk.group;
    const words = (this.#definition.custom ? group : (group.split('.')[0] ?? ''))
      .split('.')
      .map(capitalized)
      .join('');
    const scope = namespaced ? 'Namespaced' : '';
    return {
      description: `${WORDS[action]} ${kind}`,
      operationId: `${WORDS[action]}${words}${capitalized(this.#gvk.version)}${scope}${kind}`,
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': this.#gvk,
    };
  }
}

const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

const reference = (schema: string | undefined): Json =>
  schema === undefined ? { type: 'object' } : { $ref: `#/components/schemas/${schema}` };

const responses = (schema: string | undefined): Json => ({
  200: { description: 'OK', content: { 'application/json': { schema: reference(schema) } } },
  401: { description: 'Unauthorized' },
});

const parameter = (name: string, description: string, type = 'string'): Json => ({
  name,
  in: 'query',
  description,
  schema: { type, uniqueItems: true },
});

const DRY_RUN = parameter('dryRun', 'All: process the request but do not store the result.');
const FORCE = parameter('force', 'Apply: take over fields of other managers.', 'boolean');
const WRITE_PARAMETERS = [
  DRY_RUN,
  parameter('fieldManager', 'Name of the manager that owns the fields of this request.'),
  parameter('fieldValidation', 'How to handle unknown and duplicate fields: Ignore, Warn or Strict.'),
];
const LIST_PARAMETERS = [
  parameter('allowWatchBookmarks', 'Watch: send BOOKMARK events.', 'boolean'),
  parameter('continue', 'Continue token of the previous page.'),
  parameter('fieldSelector', 'Select objects by fields.'),
  parameter('labelSelector', 'Select objects by labels.'),
  parameter('limit', 'Maximum number of objects.', 'integer'),
  parameter('resourceVersion', 'Resource version for the request.'),
  parameter('resourceVersionMatch', 'How to apply resourceVersion: Exact or NotOlderThan.'),
  parameter('sendInitialEvents', 'Watch: start with the existing objects.', 'boolean'),
  parameter('timeoutSeconds', 'Timeout of the request.', 'integer'),
  parameter('watch', 'Watch for changes instead of listing.', 'boolean'),
];
const DELETE_PARAMETERS = [
  DRY_RUN,
  parameter('gracePeriodSeconds', 'Time in seconds before the object is deleted.', 'integer'),
  parameter('propagationPolicy', 'How to handle dependents: Orphan, Background or Foreground.'),
];

function pathParameters(kind: string, namespaced: boolean): { collection: Json[]; item: Json[] } {
  const inPath = (name: string, description: string): Json => ({
    name,
    in: 'path',
    description,
    required: true,
    schema: { type: 'string', uniqueItems: true },
  });
  const collection = namespaced ? [inPath('namespace', 'the namespace of the object')] : [];
  return { collection, item: [inPath('name', `name of the ${kind}`), ...collection] };
}
