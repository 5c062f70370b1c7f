import { type KubeObject, ownField } from '@tidegate/kube';
import type { RequestContext, ResourceDefinition, UserInfo } from '../resources/types.ts';
import { rememberLabels } from '../served/entry-labels.ts';
import type { Registry, Served } from '../served/registry.ts';
import type { Entry, Key, Store } from '../store/types.ts';

/** A write as seen by admission. */
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

/** Can change or reject a write. Objects are in the storage version. */
export interface Admission {
  mutate(attributes: AdmissionAttributes): Promise<KubeObject>;
  validate(attributes: AdmissionAttributes): Promise<void>;
  /**
   * Reserves what the write uses of the quotas of its namespace, or rejects it. Called directly before the write. Call the
   * result when the write is durable or has failed.
   */
  reserve(attributes: AdmissionAttributes): () => void;
}

/** The dependencies of all operations; one instance for the whole server. */
export interface Core {
  store: Store;
  registry: Registry;
  admission: Admission;
  now(): Date;
  uuid(): string;
  /** Returns an integer from 0 to `limit` - 1, for generated names. */
  random(limit: number): number;
}

/** The user and the options of a write. */
export interface WriteOptions {
  user: UserInfo;
  dryRun: boolean;
  fieldManager: string;
  /** The fieldValidation of the request, for webhooks. */
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

/** The result of a write. `entry` is undefined after a dry run. */
export interface Written {
  object: KubeObject;
  entry: Entry | undefined;
}

/** The stored object, without decoding the bytes again. */
export function writtenAs(object: KubeObject, entry: Entry): Written {
  object.metadata.resourceVersion = String(entry.revision);
  rememberLabels(entry, object.metadata.labels);
  return { object, entry };
}

/** The part of the environment that the strategies of resources may use. */
export function contextOf(core: Core, options: WriteOptions): RequestContext {
  return {
    user: options.user,
    now: core.now(),
    store: core.store,
    dryRun: options.dryRun,
    warn: options.warn,
  };
}

/** The key of an object in the store. Cluster-scoped objects have an empty namespace, even if the request has one. */
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
  ownField(definition.subresources, name) !== undefined;

export { timestamp } from '../resources/timestamp.ts';
