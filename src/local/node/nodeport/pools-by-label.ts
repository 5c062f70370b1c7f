import { NODE_GROUP_LABEL, NODE_POOL_LABEL, type PoolKind } from '../../../api/index.ts';
import type { Informer, Node } from '../../../kube/index.ts';
import type { PoolLookup } from '../../../scope/index.ts';

const LABELS: Record<PoolKind, string> = { NodePool: NODE_POOL_LABEL, NodeGroup: NODE_GROUP_LABEL };

/** Which pool a node is in, read from the labels that the pools' controllers keep on it. */
export const poolsByLabel = (nodes: Informer<Node>): PoolLookup => ({
  poolOf: (kind, node) => nodes.cache.get(node)?.metadata.labels?.[LABELS[kind]],
});

/** A heartbeat moves nobody. */
export const changedPool = (old: Node, node: Node): boolean =>
  Object.values(LABELS).some((label) => old.metadata.labels?.[label] !== node.metadata.labels?.[label]);
