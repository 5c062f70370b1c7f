import { EDGE_APPLICATIONS, type EdgeApplication } from '../../api/index.ts';
import { type KindOfPool, targetsOf, validateEdgeApplication } from '../../apps/index.ts';
import type { Membership } from '../../pools/index.ts';
import type { AdmissionResult } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { missingPermission, type PermissionSources } from './author-permissions.ts';
import { changedSpec } from './changed-spec.ts';

export const edgeApplicationRule = (
  membership: Pick<Membership, 'hasPool'>,
  permissions: PermissionSources,
): AdmissionRule => ({
  group: EDGE_APPLICATIONS.group,
  versions: [EDGE_APPLICATIONS.version],
  resource: EDGE_APPLICATIONS.resource,
  scope: 'Namespaced',
  operations: ['CREATE', 'UPDATE'],
  // A permission that cannot be checked is not granted. The controller applies every stored application, including
  // those written while the webhook was not installed: uninstalling it is the decision of a cluster administrator.
  failurePolicy: 'Fail',
  // A request to an API server can have 3 MiB, and an update contains the object twice.
  mostBytes: 7 * 1024 * 1024,
  async evaluate(request): Promise<AdmissionResult> {
    if (changedSpec(request) === undefined) return {};
    const { name, namespace, object } = request;
    // With generateName, the API server has not chosen the name yet.
    const metadata = { ...object?.metadata, name: name || object?.metadata.generateName, namespace };
    const application = { ...object, metadata } as EdgeApplication;
    const { missing } = targetsOf(application, kindOfPoolIn(membership));
    const warnings = missing.map(
      ({ path, pool }) =>
        `${path}: NodeGroup or NodePool ${JSON.stringify(pool)} not found; nothing is deployed there until it exists`,
    );
    const problems = await validateEdgeApplication(application);
    if (problems.length > 0) return { problems, warnings };
    const before = request.oldObject && ({ ...request.oldObject, metadata } as EdgeApplication);
    const forbidden = await missingPermission(application, before, request.userInfo, permissions);
    return { ...(forbidden !== undefined && { forbidden }), warnings };
  },
});

const kindOfPoolIn =
  (membership: Pick<Membership, 'hasPool'>): KindOfPool =>
  (name) => {
    if (membership.hasPool('NodeGroup', name)) return 'NodeGroup';
    return membership.hasPool('NodePool', name) ? 'NodePool' : undefined;
  };
