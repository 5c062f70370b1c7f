import type { Pod } from '@tidegate/kube';
import { poolOutOfReach, type ReachSources } from '../../pools/index.ts';
import type { Verdict } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';

/** Kubelets write the status of pods all the time, and know what they say. */
const NOT_BY_A_KUBELET = {
  name: 'not-by-a-kubelet',
  expression: '!request.userInfo.username.startsWith("system:node:")',
};

/**
 * What a cluster makes of a node that it does not hear: first its pods are not ready, later they are to go. Of a pool
 * that is out of reach as a whole neither is done. Its pods go on and answer each other; when the link is back they
 * would be taken for unready, or be ended and made anew all at once, because of a link.
 */
export const podOutOfReachRule = (sources: ReachSources): AdmissionRule => ({
  group: '',
  versions: ['v1'],
  resource: 'pods',
  subresource: 'status',
  scope: 'Namespaced',
  operations: ['UPDATE'],
  // What happens without it is what happens without us.
  failurePolicy: 'Ignore',
  matchConditions: () => [NOT_BY_A_KUBELET],
  async judge({ object, oldObject }): Promise<Verdict> {
    const [before, after] = [oldObject, object] as (Pod | null | undefined)[];
    const node = before?.spec?.nodeName;
    if (!before || !after || node === undefined) return {};
    if (!losesReadiness(before, after) && !isToGo(before, after)) return {};
    const pool = await poolOutOfReach(node, sources);
    if (pool === undefined) return {};
    return {
      forbidden: `node ${node} is not heard, and nor is any other node of pool ${pool}: its pods are left as they are until the link is back`,
    };
  },
});

const conditionOf = (pod: Pod, wanted: string) => pod.status?.conditions?.find(({ type }) => type === wanted);

const losesReadiness = (before: Pod, after: Pod): boolean =>
  conditionOf(before, 'Ready')?.status === 'True' && conditionOf(after, 'Ready')?.status !== 'True';

/** Said before a pod is deleted for the taints of its node. */
const isToGo = (before: Pod, after: Pod): boolean => !isMarked(before) && isMarked(after);

const isMarked = (pod: Pod): boolean =>
  conditionOf(pod, 'DisruptionTarget')?.reason === 'DeletionByTaintManager';
