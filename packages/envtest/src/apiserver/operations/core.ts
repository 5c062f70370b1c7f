import type { KubeObject } from '@tidegate/kube';
import type { RequestContext, ResourceDefinition, UserInfo } from '../resources/types.ts';
import type { Registry, Served } from '../served/registry.ts';
import type { Entry, Key, Store } from '../store/types.ts';

/** What an operation is about to do, as admission sees it. */
export interface AdmissionAttributes {
  operation: 'CREATE' | 'UPDATE' | 'DELETE';
  served: Served;
  subresource: string;
  namespace: string;
  name: string;
  object: KubeObject | undefined;
  oldObject: KubeObject | undefined;
  user: UserInfo;
  dryRun: boolean;
  options: Record<string, unknown>;
  warn(message: string): void;
}

/** Everything that may change or refuse a write. Objects are in the storage version. */
export interface Admission {
  mutate(attributes: AdmissionAttributes): Promise<KubeObject>;
  validate(attributes: AdmissionAttributes): Promise<void>;
}

/** What every operation needs; one for the whole server. */
export interface Core {
  store: Store;
  registry: Registry;
  admission: Admission;
  now(): Date;
  uuid(): string;
  /** Whole number below `limit`, for generated names. */
  random(limit: number): number;
}

/** Who writes, and how. */
export interface WriteOptions {
  user: UserInfo;
  dryRun: boolean;
  fieldManager: string;
  /** What the client asked for, as webhooks are shown it. */
  fieldValidation?: string;
  warn(message: string): void;
}

/** The options of the request as an object, for webhooks. */
export const admissionOptions = (kind: string, options: WriteOptions): Record<string, unknown> => ({
  kind,
  apiVersion: 'meta.k8s.io/v1',
  ...(options.dryRun && { dryRun: ['All'] }),
  fieldManager: options.fieldManager,
  ...(options.fieldValidation !== undefined && { fieldValidation: options.fieldValidation }),
});

/** What a write left behind. `entry` is absent after a dry run: nothing was stored. */
export interface Written {
  object: KubeObject;
  entry: Entry | undefined;
}

/** The object as stored, without decoding what was just encoded. */
export function writtenAs(object: KubeObject, entry: Entry): Written {
  object.metadata.resourceVersion = String(entry.revision);
  return { object, entry };
}

export function contextOf(core: Core, options: WriteOptions): RequestContext {
  return {
    user: options.user,
    now: core.now(),
    store: core.store,
    dryRun: options.dryRun,
    warn: options.warn,
  };
}

export const keyOf = (definition: ResourceDefinition, namespace: string, name: string): Key => ({
  resource: definition.storage,
  namespace: definition.namespaced ? namespace : '',
  name,
});

export const refOf = (definition: ResourceDefinition): { group: string; resource: string } => ({
  group: definition.group,
  resource: definition.plural,
});

export const hasSubresource = (definition: ResourceDefinition, name: string): boolean =>
  definition.subresources[name] !== undefined;

/** Times in objects have whole seconds. */
export const timestamp = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;
