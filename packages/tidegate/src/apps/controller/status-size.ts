/**
 * Keeps the status of large applications below the limit of etcd, which is 1.5 MiB for a whole object. What is needed to delete
 * the objects later is never left out: identifiers with their UIDs, and why an object has none.
 */
import type { EdgeApplication, EdgeApplicationStatus, ManifestStatus } from '../../api/index.ts';

/** Of the whole object. Managed fields and metadata need some space too. */
const MAX_BYTES = 1_400_000;
/** From here on, the status is compact. */
const MAX_FULL_BYTES = 700_000;
/** How many objects that are not available, or that have drifted, have details in a compact status. */
const MAX_DETAILED = 300;
/** An entry of a compact status, without the names in it. */
const ENTRY_BYTES = 280;

/** Returns the status itself if it is small. */
export function withinLimit(status: EdgeApplicationStatus): EdgeApplicationStatus {
  const { workloadStatus: _, ...rest } = status;
  const entries = status.manifestStatuses ?? [];
  if (bytesOf(status) <= MAX_FULL_BYTES) return status;
  let detailed = 0;
  return {
    ...rest,
    manifestStatuses: entries.map((entry) => {
      if (entry.identifier.uid === undefined) return brief(entry);
      if ((isAvailable(entry) && entry.drift === undefined) || ++detailed > MAX_DETAILED)
        return { identifier: entry.identifier };
      return entry;
    }),
  };
}

const isAvailable = ({ conditions = [] }: ManifestStatus): boolean =>
  conditions.some(({ type, status }) => type === 'Available' && status === 'True');

/** The reason of an object without a UID decides whether it may be deleted. Messages of errors stay in Ready. */
const brief = ({ identifier, conditions = [] }: ManifestStatus): ManifestStatus => ({
  identifier,
  conditions: conditions.filter(({ type }) => type === 'Available').map((one) => ({ ...one, message: '' })),
});

/** Why an application with so many objects cannot be deployed; undefined if it can. */
export function sizeProblem(
  { spec }: EdgeApplication,
  objects: readonly { object: { metadata: { name?: string; namespace?: string } } }[],
): string | undefined {
  const names = objects.reduce(
    (sum, { object: { metadata } }) => sum + (metadata.name ?? '').length + (metadata.namespace ?? '').length,
    0,
  );
  const bytes = bytesOf(spec) + names + objects.length * ENTRY_BYTES;
  if (bytes <= MAX_BYTES) return undefined;
  return `the status of ${objects.length} objects does not fit into the application: it would have ${bytes} bytes together with the spec, and ${MAX_BYTES} are possible; split the application`;
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
