/**
 * The node ports of front doors. Kubernetes opens a node port on every node, and the hub keeps kube-proxy from it in other pools.
 * On a node without a hub, the port is open.
 */
import { NODES } from '@tidegate/kube';
import { HUB_VERSION_ANNOTATION, L7_ROUTERS, NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../../api/index.ts';
import { nameList } from '../../pools/index.ts';
import { type Check, type Finding, ok, warning } from '../check.ts';

export const nodePorts: Check = {
  name: 'node-ports',
  title: 'Node ports of front doors',
  when: 'installed',
  async run({ client, signal }) {
    const [routers, nodes] = await Promise.all([
      client.list(L7_ROUTERS, { signal }),
      client.list(NODES, { signal }),
    ]);
    const doors = routers.items.flatMap(({ spec }) =>
      spec.pool !== undefined && spec.workload?.serviceType !== 'ClusterIP' ? [spec.pool] : [],
    );
    if (doors.length === 0) return [ok('no front door has a node port')];
    const inPools: string[] = [];
    const outside: string[] = [];
    for (const { metadata } of nodes.items) {
      const { name = '', annotations, labels } = metadata;
      if (annotations?.[HUB_VERSION_ANNOTATION] !== undefined) continue;
      const own = [labels?.[NODE_POOL_LABEL], labels?.[NODE_GROUP_LABEL]].filter(
        (pool) => pool !== undefined,
      );
      if (own.length === 0) outside.push(name);
      else if (doors.some((pool) => !own.includes(pool))) inPools.push(`${name} (${own.join(', ')})`);
    }
    const findings: Finding[] = [];
    if (inPools.length > 0)
      findings.push(
        warning(
          `these nodes have no hub, so they also open the node ports of front doors of other pools: ${nameList(inPools)}`,
          'install a hub on them (tidegate hub install), or close the ports with a firewall',
        ),
      );
    if (outside.length > 0)
      findings.push(
        ok(`nodes outside of pools open the node ports of all front doors: ${nameList(outside)}`),
      );
    return findings.length > 0 ? findings : [ok('each front door has its node ports in its pool only')];
  },
};
