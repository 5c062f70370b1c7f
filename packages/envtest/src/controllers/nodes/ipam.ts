import { Controller, isNotFound, keyOf, NODES, type Node } from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { RETRIES } from '../retries.ts';
import { PodCidrs } from './pod-cidrs.ts';

const NAME = 'node-ipam-controller';

/** Sets `spec.podCIDR` of every node: a block of the cluster CIDR for the addresses of its pods. */
export const nodeIpamController =
  (clusterCidr: string): MakeController =>
  ({ client, informers, recorderFor, clock, metrics, log }) => {
    const cidrs = new PodCidrs(clusterCidr);
    const nodes = informers.for(NODES);
    const recorder = recorderFor(NAME);

    // Without concurrency, so that two nodes never compete for the last block.
    const controller = new Controller({ name: NAME, reconcile, queue: RETRIES, clock, metrics, log });
    const take = (node: Node): void => {
      if (node.spec?.podCIDR) cidrs.hold(keyOf(node), node.spec.podCIDR);
    };
    nodes.addHandler({
      onAdd: take,
      onUpdate: (_, node) => take(node),
      onDelete: (gone) => {
        cidrs.release(keyOf(gone));
        for (const node of nodes.cache.list()) if (lacksCidr(node)) controller.enqueue(keyOf(node));
      },
    });
    return controller.watch(nodes, (node) => (lacksCidr(node) ? [keyOf(node)] : []));

    async function reconcile(name: string, signal: AbortSignal): Promise<void> {
      const node = nodes.cache.get(name);
      if (node === undefined || !lacksCidr(node)) return;
      const podCIDR = cidrs.allocate(name);
      if (podCIDR === undefined) {
        recorder.normal(node, 'CIDRNotAvailable', `Node ${name} status is now: CIDRNotAvailable`);
        return;
      }
      const patch = { metadata: { uid: node.metadata.uid }, spec: { podCIDR, podCIDRs: [podCIDR] } };
      try {
        await client.patch(NODES, { name }, 'strategic', patch, { signal });
      } catch (error) {
        // The block stays allocated until the node is seen to be gone: the write may have succeeded despite the error.
        if (!isNotFound(error)) throw error;
      }
    }
  };

const lacksCidr = (node: Node): boolean => !node.spec?.podCIDR;
