/** The parts of nodes and pools that membership depends on. Changes to other fields are ignored. */

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
  wholeNodePool,
} from '../api/index.ts';
import { recordedAttributes } from './attribute-record.ts';

export interface NodeFacts {
  readonly name: string;
  readonly labels: Labels;
  /** Tidegate wrote the NodePool label, for a selector or for `desired-nodepool`. It is removed when that reason ends. */
  readonly wroteNodePool: boolean;
}

export interface PoolFacts {
  readonly name: string;
  readonly createdAt: string;
  readonly deleting: boolean;
  readonly nodes: ReadonlySet<string>;
  /** Absent if it is empty: an empty selector selects no nodes. */
  readonly selector?: LabelMatcher;
  /** Why the selector is invalid. */
  readonly problem?: string;
}

/** The label with the name of the pool, for each kind. */
export const POOL_LABELS: Readonly<Record<PoolKind, string>> = {
  NodePool: NODE_POOL_LABEL,
  NodeGroup: NODE_GROUP_LABEL,
};

export function nodeFacts(node: Node): NodeFacts {
  const { name = '', labels = {} } = node.metadata;
  const pool = labels[NODE_POOL_LABEL];
  const wroteNodePool = pool !== undefined && recordedAttributes(node).labels[NODE_POOL_LABEL] === pool;
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
  ...selectorFacts(wholeNodePool(pool).spec?.selector ?? {}),
});

/** The pool that a user requested with a label on the node. */
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
