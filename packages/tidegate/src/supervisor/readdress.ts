import { type KubeClient, NODES, type Node } from '@tidegate/kube';

/**
 * Makes nodes forget pod addresses that are not in the range of the cluster, after the cluster got another range. The podCIDR of a Node
 * cannot be changed, so each Node is deleted and created again, with what users may have written to it. It must happen
 * while no controller runs: controllers delete the pods of a node that does not exist.
 */
export async function readdressNodes(client: KubeClient, range: number, signal: AbortSignal): Promise<void> {
  const { items } = await client.list(NODES, { signal });
  for (const node of items.filter(({ spec }) => spec?.podCIDR?.startsWith(`127.${range}.`) === false)) {
    await client.delete(NODES, { name: `${node.metadata.name}` }, { signal });
    await client.create(NODES, withoutAddresses(node), { signal });
  }
}

/** The status and the rest of the spec are written by the node agent when it starts. */
const withoutAddresses = ({ metadata: { name, labels, annotations }, spec }: Node): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels, annotations },
  spec: { taints: spec?.taints, unschedulable: spec?.unschedulable },
});
