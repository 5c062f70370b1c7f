import { isDeepStrictEqual } from 'node:util';
import type { Node } from '@tidegate/kube';

/** Whether an update of a node may make it fit, or no longer fit: a heartbeat does not. */
export const concernsDaemons = (old: Node, node: Node): boolean =>
  !isDeepStrictEqual(old.metadata.labels, node.metadata.labels) ||
  !isDeepStrictEqual(old.spec?.taints, node.spec?.taints);
