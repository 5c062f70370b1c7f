import { NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';
import type { NodeReport } from './node-reports.ts';
import type { SeenObjects } from './objects.ts';

export interface PoolReport {
  name: string;
  kind: 'NodePool' | 'NodeGroup';
  nodes: string[];
  readyNodes: number;
  /** `partial` when some of its nodes are cut and others are not. */
  link: 'up' | 'cut' | 'partial';
}

const LABELS = [
  ['NodeGroup', NODE_GROUP_LABEL],
  ['NodePool', NODE_POOL_LABEL],
] as const;

/** Pools in the order of their first nodes; pools without nodes are included while the API server is reachable. */
export function poolReports(
  nodes: readonly NodeReport[],
  seen: Pick<SeenObjects, 'nodePools' | 'nodeGroups'> | undefined,
): PoolReport[] {
  const objects = { NodePool: seen?.nodePools ?? [], NodeGroup: seen?.nodeGroups ?? [] };
  return LABELS.flatMap(([kind, label]) => {
    const inUse = nodes.flatMap(({ labels }) => labels[label] ?? []);
    const names = new Set([...inUse, ...objects[kind].map(({ metadata }) => `${metadata.name}`)]);
    return [...names].map((name) => {
      const members = nodes.filter(({ labels }) => labels[label] === name);
      return {
        name,
        kind,
        nodes: members.map((node) => node.name),
        readyNodes: members.filter(({ ready }) => ready === 'True').length,
        link: linkOf(members),
      };
    });
  });
}

function linkOf(nodes: readonly NodeReport[]): PoolReport['link'] {
  const cut = nodes.filter(({ link }) => link === 'cut').length;
  if (cut === 0) return 'up';
  return cut === nodes.length ? 'cut' : 'partial';
}
