import type { KubeObject, ManagedFieldsEntry } from '@tidegate/kube';
import { trackUpdate } from '../apply/managed-fields.ts';
import type { ResourceDefinition } from '../resources/types.ts';
import type { Schema } from '../schema/types.ts';
import { fromStorage, storageApiVersion } from '../served/codec.ts';
import { type Served, servedApiVersion } from '../served/registry.ts';
import { type Core, hasSubresource, type WriteOptions } from './core.ts';

/** Updates metadata.managedFields for every write except server-side apply. */
export function recordManager(
  core: Core,
  served: Served,
  live: KubeObject | undefined,
  object: KubeObject,
  options: WriteOptions,
  subresource: string,
): void {
  const managedFields = trackUpdate({
    live: live === undefined ? undefined : trackedForm(served, live),
    updated: object,
    manager: options.fieldManager,
    apiVersion: managedApiVersion(served),
    subresource,
    now: core.now(),
    schema: trackedSchema(served),
    resetFields: resetFields(served.definition, subresource),
  });
  if (managedFields === undefined) delete object.metadata.managedFields;
  else
    object.metadata.managedFields = subresource === 'scale' ? withoutScaleTime(managedFields) : managedFields;
}

/** kube-apiserver records writes through `scale` without a time, and sorts them before other updates. */
function withoutScaleTime(entries: ManagedFieldsEntry[]): ManagedFieldsEntry[] {
  const isScale = (e: ManagedFieldsEntry): boolean => e.subresource === 'scale' && e.operation === 'Update';
  const scale = entries.filter(isScale).map(({ time: _, ...entry }) => entry);
  const applied = entries.filter((e) => e.operation === 'Apply');
  const rest = entries.filter((e) => e.operation !== 'Apply' && !isScale(e));
  return [...applied, ...scale, ...rest];
}

/** Fields are tracked in the storage version, unless versions differ only in their name. */
export const managedApiVersion = (served: Served): string =>
  isConverted(served) ? storageApiVersion(served.definition) : servedApiVersion(served);

const isConverted = ({ definition, version }: Served): boolean =>
  version.toStorage !== undefined || definition.convert !== undefined;

/** Versions of a custom resource can have different fields, so each version tracks its own. */
export function trackedSchema({ definition, version }: Served): Schema {
  if (definition.custom && definition.convert === undefined) return version.schema;
  const stored = definition.versions.find((v) => v.name === definition.storageVersion);
  return stored?.schema ?? definition.versions[0]?.schema ?? {};
}

/** A stored object in the version in which its fields are tracked. */
export const trackedForm = (served: Served, stored: KubeObject): KubeObject =>
  served.definition.custom && served.definition.convert === undefined ? fromStorage(served, stored) : stored;

/** Fields that a write through this subresource cannot change and therefore cannot own. */
export function resetFields(definition: ResourceDefinition, subresource: string): string[] {
  if (subresource === 'status') return ['spec', definition.custom ? 'metadata' : 'metadata.labels'];
  return hasSubresource(definition, 'status') ? ['status'] : [];
}
