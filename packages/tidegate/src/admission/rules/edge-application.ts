import { EDGE_APPLICATIONS, type EdgeApplication } from '../../api/index.ts';
import { type KindOfPool, targetsOf, validateEdgeApplication } from '../../apps/index.ts';
import type { Membership } from '../../pools/index.ts';
import type { Verdict } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { type Rights, refusalOf } from './rights-of-writer.ts';
import { specToJudge } from './spec-to-judge.ts';

export const edgeApplicationRule = (
  membership: Pick<Membership, 'hasPool'>,
  rights: Rights,
): AdmissionRule => ({
  group: EDGE_APPLICATIONS.group,
  versions: [EDGE_APPLICATIONS.version],
  resource: EDGE_APPLICATIONS.resource,
  scope: 'Namespaced',
  operations: ['CREATE', 'UPDATE'],
  // A right that can not be checked is not given. The controller applies whatever is there, also what was written while
  // no webhook was installed: who takes it away has decided so.
  failurePolicy: 'Fail',
  async judge(request): Promise<Verdict> {
    if (specToJudge(request) === undefined) return {};
    const { name, namespace, object } = request;
    // With generateName the server has not chosen a name yet.
    const metadata = { ...object?.metadata, name: name || object?.metadata.generateName, namespace };
    const application = { ...object, metadata } as EdgeApplication;
    const { missing } = targetsOf(application, kindOfPoolIn(membership));
    const warnings = missing.map(
      ({ path, pool }) => `${path}: there is no NodeGroup or NodePool ${JSON.stringify(pool)} yet`,
    );
    const problems = validateEdgeApplication(application);
    if (problems.length > 0) return { problems, warnings };
    const forbidden = await refusalOf(application, request.userInfo, rights);
    return { ...(forbidden !== undefined && { forbidden }), warnings };
  },
});

const kindOfPoolIn =
  (membership: Pick<Membership, 'hasPool'>): KindOfPool =>
  (name) => {
    if (membership.hasPool('NodeGroup', name)) return 'NodeGroup';
    return membership.hasPool('NodePool', name) ? 'NodePool' : undefined;
  };
