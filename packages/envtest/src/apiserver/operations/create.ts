import type { KubeObject } from '@tidegate/kube';
import { ApiError, alreadyExists, badRequest, invalid } from '@tidegate/serving';
import type { ResourceDefinition } from '../resources/types.ts';
import { validateObjectMeta } from '../resources/validation/metadata.ts';
import { randomSuffix, SUFFIX_LENGTH } from '../resources/validation/random-suffix.ts';
import { encodeStored } from '../served/codec.ts';
import type { Served } from '../served/registry.ts';
import {
  admissionOptions,
  type Core,
  contextOf,
  hasSubresource,
  keyOf,
  refOf,
  timestamp,
  type WriteOptions,
  type Written,
  writtenAs,
} from './core.ts';
import { recordManager } from './field-managers.ts';

/** A create, from a client or from the server itself. */
export interface CreateRequest {
  served: Served;
  /** In the storage version, decoded and defaulted. The operation may modify it. */
  object: KubeObject;
  namespace: string;
  options: WriteOptions;
  /** A server-side apply has already set managedFields. */
  managed?: boolean;
}

/** A suffix of five characters rarely collides; after this many collisions the client receives AlreadyExists. */
const NAME_ATTEMPTS = 8;
const MAX_GENERATED_PREFIX = 63 - SUFFIX_LENGTH;

/** Creates an object and returns it as stored. If a generated name is in use, another one is generated. */
export async function createObject(core: Core, request: CreateRequest): Promise<Written> {
  const { generateName, name } = request.object.metadata;
  if ((name ?? '') !== '' || (generateName ?? '') === '') return createOnce(core, request);
  for (let attempt = 1; ; attempt++) {
    const object = structuredClone(request.object);
    object.metadata.name = generatedName(core, generateName ?? '');
    try {
      return await createOnce(core, { ...request, object });
    } catch (error) {
      const taken = error instanceof ApiError && error.status.reason === 'AlreadyExists';
      if (!taken || attempt >= NAME_ATTEMPTS) throw error;
    }
  }
}

/**
 * One attempt. The order is that of kube-apiserver: mutate, default, prepare, validate, validating admission, store.
 * A dry run does everything except the last step.
 */
async function createOnce(core: Core, request: CreateRequest): Promise<Written> {
  const { served, namespace, options } = request;
  const { definition } = served;
  const object = request.object;
  bindNamespace(definition, object, namespace);

  const attributes = {
    operation: 'CREATE' as const,
    served,
    subresource: '',
    namespace: definition.namespaced ? namespace : '',
    name: object.metadata.name ?? '',
    oldObject: undefined,
    user: options.user,
    dryRun: options.dryRun,
    options: admissionOptions('CreateOptions', options),
    warn: options.warn,
  };
  const admitted = await core.admission.mutate({ ...attributes, object });
  // A webhook may have added objects with fields that have defaults.
  definition.strategy.defaults?.(admitted);
  prepare(core, request, admitted);
  check(served, admitted);
  for (const warning of definition.strategy.warnings?.(admitted, undefined) ?? []) options.warn(warning);
  await core.admission.validate({ ...attributes, object: admitted });
  if (options.dryRun) refuseExisting(core, definition, namespace, admitted.metadata.name ?? '');
  const release = core.admission.reserve({ ...attributes, object: admitted });
  try {
    if (options.dryRun) return { object: admitted, entry: undefined };
    return await store(core, definition, namespace, definition.pruneForStorage?.(admitted) ?? admitted);
  } finally {
    release();
  }
}

/** The path of the request decides the namespace. The object may omit it but must not contradict it. */
function bindNamespace(definition: ResourceDefinition, object: KubeObject, namespace: string): void {
  if (!definition.namespaced) {
    delete object.metadata.namespace;
    return;
  }
  const own = object.metadata.namespace ?? '';
  if (own !== '' && own !== namespace) {
    throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`);
  }
  object.metadata.namespace = namespace;
}

/** Sets the fields that only the server decides. */
function prepare(core: Core, request: CreateRequest, object: KubeObject): void {
  const { definition } = request.served;
  const { metadata } = object;
  if ((metadata.resourceVersion ?? '') !== '') {
    throw badRequest('resourceVersion should not be set on objects to be created');
  }
  delete metadata.resourceVersion;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  metadata.uid = core.uuid();
  metadata.creationTimestamp = timestamp(core.now());
  if (definition.generation) metadata.generation = 1;
  // With a status subresource, clients cannot set the status when they create the object.
  if (definition.custom && hasSubresource(definition, 'status')) delete object.status;
  definition.strategy.prepareForCreate?.(object, contextOf(core, request.options));
  if (request.managed !== true) recordManager(core, request.served, undefined, object, request.options, '');
}

/** Throws one 422 error with all problems, so that users can fix them at once. */
function check({ definition, version }: Served, object: KubeObject): void {
  const strategy = version.strategy ?? definition.strategy;
  const errors = [
    ...validateObjectMeta(object.metadata, {
      namespaced: definition.namespaced,
      checkName: definition.checkName,
    }),
    ...(strategy.validate?.(object) ?? []),
  ];
  if (errors.length > 0) throw invalid(definition, object.metadata.name ?? '', errors);
}

function refuseExisting(core: Core, definition: ResourceDefinition, namespace: string, name: string): void {
  if (core.store.get(keyOf(definition, namespace, name)) !== undefined) {
    throw alreadyExists(refOf(definition), name);
  }
}

async function store(
  core: Core,
  definition: ResourceDefinition,
  namespace: string,
  object: KubeObject,
): Promise<Written> {
  const name = object.metadata.name ?? '';
  // The writer sees queued creates as well, so of two concurrent creates exactly one succeeds.
  const entry = await core.store.write(keyOf(definition, namespace, name), (current, revision) => {
    if (current !== undefined) throw alreadyExists(refOf(definition), name);
    return { type: 'put', value: encodeStored(definition, object, revision) };
  });
  if (entry === undefined) throw new Error(`the store lost ${definition.plural} "${name}" while creating it`);
  return writtenAs(object, entry);
}

function generatedName(core: Core, prefix: string): string {
  return prefix.slice(0, MAX_GENERATED_PREFIX) + randomSuffix(core.random);
}
