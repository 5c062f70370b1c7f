import { DESIRED_NODE_POOL_LABEL, NODE_POOL_LABEL, type PoolKind } from '../api/index.ts';
import { nameList } from './name-list.ts';

/**
 * Returns why a pool cannot be deleted now, or undefined if it can. A NodeGroup can always be deleted and releases its
 * nodes first, as in KubeEdge. A NodePool must be empty, as in OpenYurt, because the labels that assign nodes to it
 * belong to the user.
 */
export function validateDelete(kind: PoolKind, nodes: ReadonlySet<string>): string | undefined {
  if (kind === 'NodeGroup' || nodes.size === 0) return undefined;
  return (
    `the pool still has nodes: ${nameList(nodes)}; remove the label ${NODE_POOL_LABEL} from them, ` +
    `or set the label ${DESIRED_NODE_POOL_LABEL} to another pool`
  );
}
