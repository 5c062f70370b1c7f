import { EDGE_APPLICATIONS, type EdgeApplication } from '../../api/index.ts';
import {
  type KindOfPool,
  kindByAge,
  manifestErrors,
  type PoolAges,
  targetLabelsOf,
  targetsOf,
  validateEdgeApplication,
} from '../../apps/index.ts';
import type { Membership } from '../../pools/index.ts';
import type { AdmissionResult } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { missingPermission, type PermissionSources } from './author-permissions.ts';
import { changedSpec } from './changed-spec.ts';
import { KUBELET_LABELS } from './node-identity.ts';

export const edgeApplicationRule = (membership: Pools, permissions: PermissionSources): AdmissionRule => ({
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
  async evaluate(request, turn): Promise<AdmissionResult> {
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
    warnings.push(...forgeableTargets(application), ...ambiguousTargets(application, membership));
    // From cheap to expensive: only authors with all permissions can make the manager render.
    const mistakes = manifestErrors(application);
    if (mistakes.length > 0) return { problems: mistakes, warnings };
    const before = request.oldObject && ({ ...request.oldObject, metadata } as EdgeApplication);
    const forbidden = await missingPermission(application, before, request.userInfo, permissions);
    if (forbidden !== undefined) return { forbidden, warnings };
    const problems = await validateEdgeApplication(application, turn);
    return { ...(problems.length > 0 && { problems }), warnings };
  },
});

/** Admission refuses nodes that change the labels of targets, except for labels that kubelets must be able to write. */
const forgeableTargets = (application: EdgeApplication): string[] =>
  [...new Set(targetLabelsOf(application))]
    .filter((key) => KUBELET_LABELS.has(key))
    .map(
      (key) =>
        `spec.workloadScope.targetNodeLabels: every node sets its own label ${key}, so a compromised node can receive these pods; use a label with the prefix node-restriction.kubernetes.io/ for pods that not every node may run`,
    );

type Pools = Pick<Membership, 'createdAt'>;

const agesIn = (membership: Pools, name: string): PoolAges => ({
  NodeGroup: membership.createdAt('NodeGroup', name),
  NodePool: membership.createdAt('NodePool', name),
});

const kindOfPoolIn =
  (membership: Pools): KindOfPool =>
  (name, wanted) =>
    kindByAge(agesIn(membership, name), wanted);

/** A name that a NodeGroup and a NodePool have stands for the older one. That is worth a warning, not an error. */
function ambiguousTargets({ spec }: EdgeApplication, membership: Pools): string[] {
  return (spec.workloadScope?.targetNodeGroups ?? []).flatMap(({ name, kind }, index) => {
    const ages = agesIn(membership, name);
    if (kind !== undefined || ages.NodeGroup === undefined || ages.NodePool === undefined) return [];
    return [
      `spec.workloadScope.targetNodeGroups[${index}].name: a NodeGroup and a NodePool have the name ${JSON.stringify(name)}; the older one, the ${kindByAge(ages)}, is used: set kind`,
    ];
  });
}
