import { isDeepStrictEqual } from 'node:util';
import type { Node } from '@tidegate/kube';

/** Whether an update can change if the node fits. A heartbeat cannot. */
export const concernsDaemons = (old: Node, node: Node): boolean =>
  !isDeepStrictEqual(old.metadata.labels, node.metadata.labels) ||
  !isDeepStrictEqual(old.spec?.taints, node.spec?.taints);
