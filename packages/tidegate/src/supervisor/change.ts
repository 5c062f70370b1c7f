/** Compares the layout of an existing cluster with the layout the user asked for. Pure functions. */
import type { NodeLayout } from './layout.ts';
import type { ClusterState, NodeState } from './state.ts';

/** The difference between two layouts. */
export interface LayoutChange {
  added: string[];
  removed: string[];
  /** Nodes in both layouts whose labels differ, as merge patches: null removes a label. */
  relabeled: Map<string, Record<string, string | null>>;
}

/** Compares two layouts: which nodes to add, to remove and to relabel. */
export function changeOf(before: readonly NodeLayout[], after: readonly NodeLayout[]): LayoutChange {
  const old = new Map(before.map((node) => [node.name, node.labels]));
  const wanted = new Set(after.map((node) => node.name));
  const relabeled = new Map<string, Record<string, string | null>>();
  for (const { name, labels } of after) {
    const change = labelChange(old.get(name) ?? labels, labels);
    if (Object.keys(change).length > 0) relabeled.set(name, change);
  }
  return {
    added: after.filter(({ name }) => !old.has(name)).map(({ name }) => name),
    removed: before.filter(({ name }) => !wanted.has(name)).map(({ name }) => name),
    relabeled,
  };
}

/** The merge patch from one set of labels to another. */
function labelChange(
  before: Record<string, string>,
  after: Record<string, string>,
): Record<string, string | null> {
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const set = Object.entries(after).filter(([key, value]) => before[key] !== value);
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...Object.fromEntries(set) };
}

/** One line for each kind of difference, for the output of `tidegate up`. */
export function describeChange({ added, removed, relabeled }: LayoutChange): string[] {
  const line = (what: string, names: string[]): string[] =>
    names.length === 0 ? [] : [`${what} ${names.join(', ')}`];
  return [
    ...line('nodes added:', added),
    ...line('nodes removed, with their pods:', removed),
    ...line('node labels changed:', [...relabeled.keys()]),
  ];
}

/**
 * Assigns a number to each node of a layout. Existing nodes keep their number, port and link state; a new node gets
 * the lowest free number. Numbers must be stable because a node's address and its pods' addresses derive from it.
 */
export function numberNodes(cluster: ClusterState | undefined, layout: readonly NodeLayout[]): NodeState[] {
  const existing = new Map(cluster?.nodes.map((node) => [node.name, node]));
  const taken = new Set(layout.map(({ name }) => existing.get(name)?.number));
  let next = 1;
  const freeNumber = (): number => {
    while (taken.has(next)) next++;
    return next++;
  };
  return layout.map(({ name, labels }) => {
    const old = existing.get(name);
    return old === undefined
      ? { name, labels, number: freeNumber(), apiPort: 0, cut: false }
      : { ...old, labels };
  });
}
