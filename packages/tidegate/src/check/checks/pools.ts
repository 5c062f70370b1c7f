/** Each pool: does it exist, and does it have nodes that work? */
import { type Condition, isConditionTrue, NODES } from '@tidegate/kube';
import { NODE_GROUP_LABEL, NODE_GROUPS, NODE_POOL_LABEL, NODE_POOLS } from '../../api/index.ts';
import { type Check, error, type Finding, ok, warning } from '../check.ts';

/** What to do for problems that the status of a pool names. */
const HINTS: Readonly<Record<string, string>> = {
  NodesRefused:
    'a node is in one pool of a kind: change the selector, the list of nodes, or the label of the node',
  InvalidSelector: 'correct the selector of the pool',
  NodesMissing: 'correct the names in the list of nodes, or let the nodes join',
};

export const pools: Check = {
  name: 'pools',
  title: 'Pools',
  when: 'installed',
  async run({ client, signal }) {
    const [nodes, nodePools, nodeGroups] = await Promise.all([
      client.list(NODES, { signal }),
      client.list(NODE_POOLS, { signal }),
      client.list(NODE_GROUPS, { signal }),
    ]);
    const findings: Finding[] = [];
    const kinds = [
      { kind: 'NodePool', label: NODE_POOL_LABEL, objects: nodePools.items },
      { kind: 'NodeGroup', label: NODE_GROUP_LABEL, objects: nodeGroups.items },
    ];
    for (const { kind, label, objects } of kinds) {
      const names = new Set(objects.map(({ metadata }) => metadata.name ?? ''));
      for (const { metadata } of nodes.items) {
        const pool = metadata.labels?.[label];
        if (pool !== undefined && !names.has(pool))
          findings.push(
            error(
              `node ${metadata.name} has the label ${label}=${pool}, but ${kind} ${pool} does not exist`,
              `create the ${kind}, or remove the label`,
            ),
          );
      }
      for (const { metadata, status } of objects) {
        const { conditions } = (status ?? {}) as { conditions?: Condition[] | null };
        const problem = conditions?.find(({ reason = '' }) => reason in HINTS);
        if (problem !== undefined)
          findings.push(
            warning(`${kind} ${metadata.name}: ${problem.message}`, HINTS[`${problem.reason}`] ?? ''),
          );
      }
      for (const name of names) {
        const members = nodes.items.filter(({ metadata }) => metadata.labels?.[label] === name);
        const ready = members.filter(({ status }) => isConditionTrue(status?.conditions as never, 'Ready'));
        if (members.length === 0)
          findings.push(warning(`${kind} ${name} has no nodes`, 'add nodes to it, or delete it'));
        else if (ready.length === 0)
          findings.push(
            error(
              `${kind} ${name}: none of its ${members.length} nodes is Ready`,
              'check the link of the site, and the kubelet and the hub of its nodes',
            ),
          );
      }
    }
    const count = nodePools.items.length + nodeGroups.items.length;
    if (findings.length > 0) return findings;
    return [ok(count === 0 ? 'there is no pool yet' : `${count} pools have nodes that are Ready`)];
  },
};
