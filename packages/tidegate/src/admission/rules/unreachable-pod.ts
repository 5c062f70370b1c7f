import type { Pod } from '@tidegate/kube';
import { SYSTEM_NAMESPACE } from '../../api/index.ts';
import { type ReachabilitySources, unreachablePoolOf } from '../../pools/index.ts';
import type { AdmissionResult } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';

/** Kubelets update pod status all the time, and know the real state of their pods. */
const NOT_FROM_KUBELET = {
  name: 'not-from-kubelet',
  expression: '!request.userInfo.username.startsWith("system:node:")',
};

/**
 * Protects the pods of a pool that is unreachable as a whole. When a node stops reporting, the cluster first marks its
 * pods as not ready and later evicts them. If every node of a pool stops reporting, the link is broken, and the pods
 * keep running and serving each other. Without this rule, all of them would be marked as not ready, or be deleted and
 * created again at once, only because of the link.
 */
export const unreachablePodRule = (sources: ReachabilitySources): AdmissionRule => ({
  group: '',
  versions: ['v1'],
  resource: 'pods',
  subresource: 'status',
  scope: 'Namespaced',
  operations: ['UPDATE'],
  // Without this rule, Kubernetes behaves as usual.
  failurePolicy: 'Ignore',
  matchConditions: () => [NOT_FROM_KUBELET],
  async evaluate({ object, oldObject, userInfo }): Promise<AdmissionResult> {
    const [before, after] = [oldObject, object] as (Pod | null | undefined)[];
    const node = before?.spec?.nodeName;
    if (!before || !after || node === undefined) return {};
    // Not every API server evaluates the condition.
    if (userInfo.username.startsWith('system:node:') || isOwnPod(before)) return {};
    if (!losesReadiness(before, after) && !isMarkedForEviction(before, after)) return {};
    return unlessUnreachable(node, sources);
  },
});

/** The account with which Kubernetes deletes the pods of nodes that stopped reporting. It deletes no other pods. */
const NODE_CONTROLLER = 'system:serviceaccount:kube-system:node-controller';

/**
 * Before version 1.26, Kubernetes deletes pods because of a taint without a mark in their status. So the rule above does not see
 * it. Users and other controllers can delete pods of an unreachable pool as usual.
 */
export const unreachablePodDeletionRule = (sources: ReachabilitySources): AdmissionRule => ({
  group: '',
  versions: ['v1'],
  resource: 'pods',
  scope: 'Namespaced',
  operations: ['DELETE'],
  failurePolicy: 'Ignore',
  matchConditions: () => [
    { name: 'from-node-controller', expression: `request.userInfo.username == "${NODE_CONTROLLER}"` },
  ],
  async evaluate({ oldObject, userInfo }): Promise<AdmissionResult> {
    const pod = oldObject as Pod | null | undefined;
    const node = pod?.spec?.nodeName;
    if (!pod || node === undefined || userInfo.username !== NODE_CONTROLLER || isOwnPod(pod)) return {};
    return unlessUnreachable(node, sources);
  },
});

async function unlessUnreachable(node: string, sources: ReachabilitySources): Promise<AdmissionResult> {
  const pool = await unreachablePoolOf(node, sources);
  if (pool === undefined) return {};
  const { name, heardAt, until } = pool;
  const limit = until === undefined ? '' : `, but no longer than ${timeOf(until)}`;
  return {
    forbidden: `node ${node} and all other nodes in pool ${name} are unreachable, last heard of at ${timeOf(heardAt)}; pods are left unchanged until the pool reconnects${limit}`,
  };
}

const timeOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/**
 * A manager in the pool would protect itself: it would stay an endpoint of the webhook, the API server could not reach it, and
 * requests that the webhook must check would fail, or pass unchecked.
 */
const isOwnPod = ({ metadata }: Pod): boolean =>
  metadata.namespace === SYSTEM_NAMESPACE && metadata.labels?.['app.kubernetes.io/part-of'] === 'tidegate';

const conditionOf = (pod: Pod, wanted: string) => pod.status?.conditions?.find(({ type }) => type === wanted);

const losesReadiness = (before: Pod, after: Pod): boolean =>
  conditionOf(before, 'Ready')?.status === 'True' && conditionOf(after, 'Ready')?.status !== 'True';

/** The taint manager sets this condition before it deletes a pod because of a taint on its node. */
const isMarkedForEviction = (before: Pod, after: Pod): boolean => !isMarked(before) && isMarked(after);

const isMarked = (pod: Pod): boolean =>
  conditionOf(pod, 'DisruptionTarget')?.reason === 'DeletionByTaintManager';
