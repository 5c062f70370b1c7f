import type { Node } from '@tidegate/kube';
import { NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';

/**
 * Whether the node is outside of all pools and open for pods without tolerations. Taints of Kubernetes itself do not count: they
 * show conditions of the node that pass, for example that it is not ready.
 */
export const isFreeNode = ({ metadata: { labels = {} }, spec = {} }: Node): boolean =>
  labels[NODE_POOL_LABEL] === undefined &&
  labels[NODE_GROUP_LABEL] === undefined &&
  spec.unschedulable !== true &&
  !(spec.taints ?? []).some(
    ({ key, effect }) => effect !== 'PreferNoSchedule' && !key.startsWith('node.kubernetes.io/'),
  );
