import type { PoolKind } from '../api/index.ts';

/** The sets of nodes that an application is deployed to. Each is a site of its own for the Services of the application. */
export interface ServiceTargets {
  readonly nodePools?: readonly string[];
  readonly nodeGroups?: readonly string[];
  /** The nodes of each target that selects nodes by label: nodes have labels, but a hub does not watch nodes. */
  readonly nodes?: readonly (readonly string[])[];
}

/** The value of the annotation. The order of the targets does not matter, so that reordering them changes nothing. */
export const formatServiceTargets = ({
  nodePools = [],
  nodeGroups = [],
  nodes = [],
}: ServiceTargets): string =>
  JSON.stringify({
    ...(nodePools.length > 0 && { nodePools: nodePools.toSorted() }),
    ...(nodeGroups.length > 0 && { nodeGroups: nodeGroups.toSorted() }),
    ...(nodes.length > 0 && { nodes: nodes.map((names) => names.toSorted()).toSorted() }),
  });

/** Reads the annotation. A value that is not valid has no targets, so that clients see nothing that they must not see. */
export function parseServiceTargets(text: string): ServiceTargets {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return {};
  }
  if (typeof value !== 'object' || value === null) return {};
  const { nodePools, nodeGroups, nodes } = value as Record<string, unknown>;
  return {
    nodePools: namesIn(nodePools),
    nodeGroups: namesIn(nodeGroups),
    nodes: Array.isArray(nodes) ? nodes.map(namesIn) : [],
  };
}

const namesIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];

/** Returns whether a node is in one of the targets that contain the client's node. Undefined: no target contains it. */
export function sharesTarget(
  { nodePools = [], nodeGroups = [], nodes = [] }: ServiceTargets,
  clientNode: string,
  poolOf: (kind: PoolKind, node: string) => string | undefined,
): ((node: string) => boolean) | undefined {
  const pool = poolOf('NodePool', clientNode);
  const group = poolOf('NodeGroup', clientNode);
  const inPool = pool !== undefined && nodePools.includes(pool);
  const inGroup = group !== undefined && nodeGroups.includes(group);
  const others = new Set(nodes.filter((names) => names.includes(clientNode)).flat());
  if (!inPool && !inGroup && others.size === 0) return undefined;
  return (node) =>
    others.has(node) ||
    (inPool && poolOf('NodePool', node) === pool) ||
    (inGroup && poolOf('NodeGroup', node) === group);
}
