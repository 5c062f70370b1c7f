/**
 * The status of an application records the UIDs of the objects that it has created, and the manager deletes these objects with
 * the application. So a user that may write the status, but not delete an object, must not add the object to the status. The status
 * also records which revision each site has. Only the manager writes that: it would deploy what a user names there.
 */
import { isDeepStrictEqual } from 'node:util';
import { EDGE_APPLICATIONS, type EdgeApplication, SYSTEM_NAMESPACE } from '../../api/index.ts';
import { type Recorded, recordedObjects } from '../../apps/index.ts';
import type { AccessRequest } from '../access.ts';
import type { AdmissionResult, UserInfo } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { authorOf, type PermissionSources, textOfTarget, unlessUnreachable } from './author-permissions.ts';

/** The account of the part of the manager that writes the status, see deploy/chart/templates/apps.yaml. */
const WRITER = `system:serviceaccount:${SYSTEM_NAMESPACE}:tidegate-apps`;
/** Its members may do everything in every cluster. */
const ADMINISTRATORS = 'system:masters';

/** With this Lease, managers elect a leader of the part. */
const LEASE = {
  group: 'coordination.k8s.io',
  resource: 'leases',
  namespace: SYSTEM_NAMESPACE,
  name: 'tidegate-apps',
};

/** More access reviews would not fit into the timeout of the webhook. */
const MOST_ADDED = 100;

export const edgeApplicationStatusRule = (permissions: PermissionSources): AdmissionRule => ({
  group: EDGE_APPLICATIONS.group,
  versions: [EDGE_APPLICATIONS.version],
  resource: EDGE_APPLICATIONS.resource,
  subresource: 'status',
  scope: 'Namespaced',
  operations: ['UPDATE'],
  failurePolicy: 'Fail',
  guards: 'status',
  mostBytes: 7 * 1024 * 1024,
  // The status that the manager writes does not depend on the webhook.
  matchConditions: () => [
    {
      name: 'not-from-manager',
      expression: `request.userInfo.username != ${JSON.stringify(WRITER)} && !(has(request.userInfo.groups) && ${JSON.stringify(ADMINISTRATORS)} in request.userInfo.groups)`,
    },
  ],
  async evaluate({ object, oldObject, userInfo }): Promise<AdmissionResult> {
    if (userInfo.username === WRITER || userInfo.groups?.includes(ADMINISTRATORS)) return {};
    const [now, before] = [object, oldObject] as unknown as (EdgeApplication | null)[];
    if (!isDeepStrictEqual(now?.status?.rollout, before?.status?.rollout)) {
      const forbidden = await unlessUnreachable(userInfo, () => refusalOfRollout(userInfo, permissions));
      if (forbidden !== undefined) return { forbidden };
    }
    const added = addedObjects(now ?? null, before ?? null);
    if (added.length > MOST_ADDED)
      return {
        forbidden: `status.manifestStatuses: a request can add at most ${MOST_ADDED} objects, this one adds ${added.length}: let the manager write the status`,
      };
    const forbidden = await unlessUnreachable(userInfo, () => refusalFor(added, userInfo, permissions));
    return forbidden === undefined ? {} : { forbidden };
  },
});

/** A manager with another account is known by the permission to lead: with it, a user could replace the manager anyway. */
async function refusalOfRollout(user: UserInfo, { access }: PermissionSources): Promise<string | undefined> {
  if (await access(user, { verb: 'update', ...LEASE })) return undefined;
  return (
    `status.rollout: ${authorOf(user)} cannot change the rollout in the status, because it decides which revision each site gets: ` +
    'let the manager write the status, and change spec.rollout instead'
  );
}

/**
 * The entries with which the manager would delete or change more than before. An entry without a UID counts too: with other facts
 * about the object, which users may be able to write, it can stand for an object that exists.
 */
function addedObjects(now: EdgeApplication | null, before: EdgeApplication | null): Recorded[] {
  const known = before ? recordedObjects(before) : new Map<string, Recorded>();
  // A pending or failed entry stands for an object whose UID is not known yet.
  const standsForNew = ({ isPending, hasFailed }: Recorded): boolean => isPending || hasFailed;
  const added = [...(now ? recordedObjects(now) : [])].filter(([identity, entry]) => {
    const old = known.get(identity);
    return (
      old === undefined ||
      old.identifier.uid !== entry.identifier.uid ||
      // The same kind and name with another resource or version: the manager deletes what the resource names.
      old.identifier.resource !== entry.identifier.resource ||
      old.identifier.version !== entry.identifier.version ||
      standsForNew(old) !== standsForNew(entry)
    );
  });
  return added.map(([, recorded]) => recorded);
}

async function refusalFor(
  added: readonly Recorded[],
  user: UserInfo,
  { access }: PermissionSources,
): Promise<string | undefined> {
  const targets = added.map(
    ({ identifier: { group = '', resource = '', namespace, name = '' } }): Omit<AccessRequest, 'verb'> => ({
      group,
      resource,
      name,
      ...(namespace !== undefined && { namespace }),
    }),
  );
  const allowed = await Promise.all(targets.map((target) => access(user, { verb: 'delete', ...target })));
  const refused = targets.find((_, index) => !allowed[index]);
  if (refused === undefined) return undefined;
  return (
    `status.manifestStatuses: ${authorOf(user)} cannot delete ${textOfTarget(refused)}; an application deletes the ` +
    'objects in its status: let the manager write the status, or grant the permission'
  );
}
