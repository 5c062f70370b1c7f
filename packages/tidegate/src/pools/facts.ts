/** What membership depends on, read once from each object: nothing else of an object can change who is where. */

import {
  isBeingDeleted,
  type LabelMatcher,
  type LabelSelector,
  type Labels,
  matcherFromSelector,
  type Node,
  SelectorError,
} from '@tidegate/kube';
import {
  DESIRED_NODE_POOL_LABEL,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  type NodeGroup,
  type NodePool,
  type PoolKind,
} from '../api/index.ts';
import { writtenOn } from './written.ts';

export interface NodeFacts {
  readonly name: string;
  readonly labels: Labels;
  /** The label that puts the node into its NodePool is ours: whoever asked for it may take it back. */
  readonly wroteNodePool: boolean;
}

export interface PoolFacts {
  readonly name: string;
  readonly createdAt: string;
  readonly deleting: boolean;
  readonly nodes: ReadonlySet<string>;
  /** Absent when there is nothing in it: an empty selector selects nothing. */
  readonly selector?: LabelMatcher;
  /** Why the selector can not be used. */
  readonly problem?: string;
}

/** The label that says which pool of the kind holds a node. */
export const POOL_LABELS: Readonly<Record<PoolKind, string>> = {
  NodePool: NODE_POOL_LABEL,
  NodeGroup: NODE_GROUP_LABEL,
};

export function nodeFacts(node: Node): NodeFacts {
  const { name = '', labels = {} } = node.metadata;
  const pool = labels[NODE_POOL_LABEL];
  const wroteNodePool = pool !== undefined && writtenOn(node).labels[NODE_POOL_LABEL] === pool;
  return { name, labels, wroteNodePool };
}

export const nodeGroupFacts = (group: NodeGroup): PoolFacts => ({
  ...common(group),
  nodes: new Set(group.spec?.nodes ?? []),
  ...selectorFacts({ matchLabels: group.spec?.matchLabels }),
});

export const nodePoolFacts = (pool: NodePool): PoolFacts => ({
  ...common(pool),
  nodes: NO_NODES,
  ...selectorFacts(pool.spec?.selector ?? {}),
});

/** The pool that a person asked for on the node itself. */
export const desiredPool = (kind: PoolKind, { labels }: NodeFacts): string | undefined =>
  kind === 'NodePool' ? labels[DESIRED_NODE_POOL_LABEL] : undefined;

const NO_NODES: ReadonlySet<string> = new Set();

const common = (pool: NodePool | NodeGroup): Pick<PoolFacts, 'name' | 'createdAt' | 'deleting'> => ({
  name: pool.metadata.name ?? '',
  createdAt: pool.metadata.creationTimestamp ?? '',
  deleting: isBeingDeleted(pool),
});

function selectorFacts(selector: LabelSelector): Pick<PoolFacts, 'selector' | 'problem'> {
  try {
    const matcher = matcherFromSelector(selector);
    return matcher.empty ? {} : { selector: matcher };
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return { problem: error.message };
  }
}
