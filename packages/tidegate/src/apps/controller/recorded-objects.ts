import type { KubeObject, Resource } from '@tidegate/kube';
import { EDITION_LABEL, type EdgeApplication, type ResourceIdentifier } from '../../api/index.ts';
import type { Recorded } from './ownership.ts';
import { APPLY_FAILED, HELD, identityOfIdentifier, type Outcome, PENDING } from './status.ts';

/** Lists every object that the application may have created. The status lists objects before they are created. */
export function recordedObjects({ status }: EdgeApplication): Map<string, Recorded> {
  const made = (status?.manifestStatuses ?? []).filter(
    ({ identifier: { resource, name } }) => resource !== undefined && name !== undefined,
  );
  return new Map(
    made.map(({ identifier, conditions = [] }) => {
      const has = (wanted: string): boolean => conditions.some(({ reason }) => reason === wanted);
      return [
        identityOfIdentifier(identifier),
        { identifier, isPending: has(PENDING), hasFailed: has(APPLY_FAILED) },
      ];
    }),
  );
}

/** The resource of an identifier in the status. It works without discovery, so also for kinds that were removed. */
export const resourceOf = ({
  group = '',
  version = '',
  resource = '',
  namespace,
}: ResourceIdentifier): Resource => ({
  group,
  version,
  resource,
  namespaced: namespace !== undefined,
});

/** Returns why an object that is not rendered must be kept, or undefined if it can be deleted. */
export function reasonToKeep(
  live: KubeObject,
  hasErrors: boolean,
  missingPools: ReadonlySet<string>,
  waitingSites: ReadonlySet<string> = new Set(),
): Omit<Outcome, 'identifier'> | undefined {
  if (hasErrors)
    return {
      available: false,
      reason: 'Kept',
      message: 'the object is kept unchanged until all manifests can be rendered',
    };
  const edition = live.metadata.labels?.[EDITION_LABEL];
  if (edition !== undefined && missingPools.has(edition))
    return {
      available: false,
      reason: 'PoolMissing',
      message: `the object is kept unchanged: there is no NodeGroup or NodePool ${edition}`,
    };
  if (edition !== undefined && waitingSites.has(edition))
    return {
      available: false,
      reason: HELD,
      message: 'the object is kept unchanged until the rollout reaches its site',
    };
  return undefined;
}
