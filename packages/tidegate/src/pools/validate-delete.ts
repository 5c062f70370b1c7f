import { DESIRED_NODE_POOL_LABEL, NODE_POOL_LABEL, type PoolKind } from '../api/index.ts';
import { namesInText } from './names-in-text.ts';

/**
 * Why a pool can not be deleted now; undefined when it can. A NodeGroup always can: it lets its nodes go first, as
 * in KubeEdge. A NodePool must be empty, as in OpenYurt: the labels that put nodes into it belong to people.
 */
export function validateDelete(kind: PoolKind, nodes: ReadonlySet<string>): string | undefined {
  if (kind === 'NodeGroup' || nodes.size === 0) return undefined;
  return (
    `the pool still has nodes: ${namesInText(nodes)}; take the label ${NODE_POOL_LABEL} off them, ` +
    `or name another pool in their label ${DESIRED_NODE_POOL_LABEL}`
  );
}
