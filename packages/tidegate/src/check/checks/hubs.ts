/** The hub of each node: its link, as its lease shows it, and its version. */
import { getCondition, LEASES, NODES } from '@tidegate/kube';
import { HUB_VERSION_ANNOTATION } from '../../api/index.ts';
import { readInventory, skewProblem } from '../../install/index.ts';
import { type Check, error, type Finding, ok, warning } from '../check.ts';

/** A kubelet renews its lease every 10 s. Kubernetes gives up on a node after 40 s. */
const MOST_MS = 40_000;

export const hubs: Check = {
  name: 'hubs',
  title: 'Hubs of nodes',
  when: 'installed',
  async run({ client, namespace, now, signal }) {
    const [nodes, leases, inventory] = await Promise.all([
      client.list(NODES, { signal }),
      client.list(LEASES, { namespace: 'kube-node-lease', signal }),
      readInventory(client, namespace),
    ]);
    const findings: Finding[] = [];
    let count = 0;
    for (const { metadata, status } of nodes.items) {
      const { name = '', annotations } = metadata;
      const version = annotations?.[HUB_VERSION_ANNOTATION];
      if (version === undefined) continue;
      count++;
      const renewed = leases.items.find((lease) => lease.metadata.name === name)?.spec?.renewTime;
      const age = now() - Date.parse(renewed ?? '');
      // The cluster may give up on a node earlier than by default.
      const isLost = getCondition(status?.conditions as never, 'Ready')?.status === 'Unknown';
      if (isLost || !(age <= MOST_MS))
        findings.push(
          error(
            `node ${name} has not reached the API server for ${Number.isNaN(age) ? 'an unknown time' : `${Math.round(age / 1000)} s`}`,
            'check the link of the site; on the node: systemctl status tidegate-hub kubelet, and curl 127.0.0.1:10267/v1/upstreams?output=text',
          ),
        );
      const problem = inventory && skewProblem(`the hub of node ${name}`, version, inventory.version);
      if (problem !== undefined)
        findings.push(warning(problem, 'the rules are in docs/guides/install.md#versions'));
    }
    if (findings.length > 0) return findings;
    return [ok(count === 0 ? 'no node has a hub' : `${count} hubs are connected`)];
  },
};
