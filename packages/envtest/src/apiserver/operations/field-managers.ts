import type { KubeObject, ManagedFieldsEntry } from '@tidegate/kube';
import { trackUpdate } from '../apply/managed-fields.ts';
import type { ResourceDefinition } from '../resources/types.ts';
import type { Schema } from '../schema/types.ts';
import { fromStorage, storageApiVersion } from '../served/codec.ts';
import { type Served, servedApiVersion } from '../served/registry.ts';
import { type Core, hasSubresource, type WriteOptions } from './core.ts';

/** Notes in metadata.managedFields who set what, for every write that is not a server-side apply. */
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

/** Whoever scales is noted without a time, and what has no time comes first among the updates. */
function withoutScaleTime(entries: ManagedFieldsEntry[]): ManagedFieldsEntry[] {
  const isScale = (e: ManagedFieldsEntry): boolean => e.subresource === 'scale' && e.operation === 'Update';
  const scale = entries.filter(isScale).map(({ time: _, ...entry }) => entry);
  const applied = entries.filter((e) => e.operation === 'Apply');
  const rest = entries.filter((e) => e.operation !== 'Apply' && !isScale(e));
  return [...applied, ...scale, ...rest];
}

/** Fields are tracked in the version in which they are stored, unless only the version's name differs. */
export const managedApiVersion = (served: Served): string =>
  served.version.toStorage === undefined ? servedApiVersion(served) : storageApiVersion(served.definition);

/** Versions of a custom resource share names but not fields, so each tracks its own. */
export function trackedSchema({ definition, version }: Served): Schema {
  if (definition.custom) return version.schema;
  const stored = definition.versions.find((v) => v.name === definition.storageVersion);
  return stored?.schema ?? definition.versions[0]?.schema ?? {};
}

/** A stored object in the form in which its fields are tracked. */
export const trackedForm = (served: Served, stored: KubeObject): KubeObject =>
  served.definition.custom ? fromStorage(served, stored) : stored;

/** What a write through this subresource can not change, and so can not own. */
export function resetFields(definition: ResourceDefinition, subresource: string): string[] {
  if (subresource === 'status') return ['spec', definition.custom ? 'metadata' : 'metadata.labels'];
  return hasSubresource(definition, 'status') ? ['status'] : [];
}
