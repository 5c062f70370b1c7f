/** The managers of an object: `metadata.managedFields` decoded, sorted, limited and encoded. */
import type { ManagedFieldsEntry } from '@tidegate/kube';
import type { FieldType } from './field-type.ts';
import { decodeFieldSet, type FieldSet, isEmpty, union } from './fieldset.ts';
import { reconcileWithSchema } from './reconcile.ts';

/** One entry of managedFields. See `identityOf` for which fields make it unique. */
export interface Manager {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  subresource: string;
  time: string | undefined;
  // The fields that the manager owns. Several managers can own the same field if they agree on its value.
  fields: FieldSet;
}

/** Managers by identity: name, operation, API version and subresource. */
export type Managers = Map<string, Manager>;

/** A manager that applies keeps its identity across API versions. */
export function identityOf(m: Pick<Manager, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  return [m.manager, m.operation, m.operation === 'Apply' ? '' : m.apiVersion, m.subresource].join('\n');
}

/** Throws if an entry is malformed. The caller decides whether that is an error. */
export function decodeManagers(
  entries: readonly ManagedFieldsEntry[] | undefined,
  type: FieldType,
): Managers {
  const managers: Managers = new Map();
  for (const [i, entry] of (entries ?? []).entries()) {
    const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsType = '' } = entry;
    if (operation !== 'Apply' && operation !== 'Update') {
      throw new Error('operation must be `Apply` or `Update`');
    }
    if (apiVersion === '') throw new Error('apiVersion must not be empty');
    if (fieldsType === '') throw new Error(`missing fieldsType in managed fields entry ${i}`);
    if (fieldsType !== 'FieldsV1') {
      throw new Error(`invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${i}`);
    }
    const fields = reconcileWithSchema(decodeFieldSet(entry.fieldsV1), type);
    const decoded: Manager = { manager, operation, apiVersion, subresource, time, fields };
    managers.set(identityOf(decoded), decoded);
  }
  return managers;
}

/** Returns undefined if there are none: an object without managers has no managedFields. */
export function encodeManagers(managers: Managers): ManagedFieldsEntry[] | undefined {
  if (managers.size === 0) return undefined;
  const sorted = [...managers.values()];
  if (sorted.length > 1) sorted.sort(compareManagers);
  return sorted.map(encodeManager);
}

function encodeManager({
  manager,
  operation,
  apiVersion,
  subresource,
  time,
  fields,
}: Manager): ManagedFieldsEntry {
  const entry: ManagedFieldsEntry = {
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
  };
  if (manager === '') delete entry.manager;
  if (time === undefined) delete entry.time;
  if (subresource !== '') entry.subresource = subresource;
  return entry;
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareTexts(a.operation, b.operation) ||
    secondsOf(a.time) - secondsOf(b.time) ||
    compareTexts(a.manager, b.manager) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  );
}

const compareTexts = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

const secondsOf = (time: string | undefined): number =>
  time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);

/** Times are in whole seconds, as in kube-apiserver. */
export const timestamp = (now: Date): string => `${now.toISOString().slice(0, 19)}Z`;

/** A manager that owns nothing has no entry. */
export function dropOwnersOfNothing(managers: Managers): void {
  for (const [identity, { fields }] of managers) if (isEmpty(fields)) managers.delete(identity);
}

/**
 * Without a limit, every client with a new name would add an entry, and objects would grow forever. The values are
 * those of kube-apiserver.
 */
const MAX_UPDATERS = 10;
const OLD_UPDATERS = 'ancient-changes';

/** Merges the oldest updaters of an API version into one entry until at most MAX_UPDATERS are left. */
export function capUpdaters(managers: Managers): void {
  const updaters = [...managers].filter(([, { operation }]) => operation === 'Update');
  let count = updaters.length;
  if (count <= MAX_UPDATERS) return;
  updaters.sort(([a, x], [b, y]) => secondsOf(x.time) - secondsOf(y.time) || compareTexts(a, b));
  const firstOfVersion = new Map<string, string>();
  for (const [identity, old] of updaters) {
    if (count <= MAX_UPDATERS) return;
    const first = firstOfVersion.get(old.apiVersion);
    if (first === undefined) {
      firstOfVersion.set(old.apiVersion, identity);
      continue;
    }
    const bucket: Manager = { ...old, manager: OLD_UPDATERS, subresource: '' };
    const bucketIdentity = identityOf(bucket);
    const oldest = managers.get(bucketIdentity) ?? managers.get(first);
    if (!managers.has(bucketIdentity)) managers.delete(first);
    managers.delete(identity);
    managers.set(bucketIdentity, { ...bucket, fields: union(old.fields, oldest?.fields ?? {}) });
    count--;
  }
}
