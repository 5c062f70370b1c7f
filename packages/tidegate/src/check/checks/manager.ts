/** The parts of the manager: ready, and not at a site that can be cut off. */
import { isBeingDeleted, NODES, PODS } from '@tidegate/kube';
import { NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../../api/index.ts';
import { notReadyText, PART_OF_SELECTOR, whatIsMissing } from '../../install/index.ts';
import { isFreeNode } from '../../pools/index.ts';
import { type Check, error, ok, warning } from '../check.ts';

export const manager: Check = {
  name: 'manager',
  title: 'Manager',
  when: 'installed',
  async run({ client, namespace, signal }) {
    const missing = await whatIsMissing(client, namespace, signal);
    const findings = missing.map((what) =>
      error(
        `not ready: ${notReadyText(what)}`,
        `kubectl -n ${namespace} describe pods -l ${PART_OF_SELECTOR}; kubectl -n ${namespace} logs -l ${PART_OF_SELECTOR}`,
      ),
    );
    const [pods, nodes] = await Promise.all([
      client.list(PODS, { namespace, labelSelector: PART_OF_SELECTOR, signal }),
      client.list(NODES, { signal }),
    ]);
    const hint = nodes.items.some(isFreeNode)
      ? 'delete the pod; it is created on a node outside of pools, unless the value affinity allows others'
      : 'add a node outside of pools, or remove one from its pool: until then, the pod cannot be created again. To run it in a pool, set the value affinity';
    // A pod that is being deleted is on its way to another node.
    for (const { metadata, spec } of pods.items.filter((pod) => !isBeingDeleted(pod))) {
      const labels = nodes.items.find(({ metadata: { name } }) => name === spec?.nodeName)?.metadata.labels;
      const pool = labels?.[NODE_POOL_LABEL] ?? labels?.[NODE_GROUP_LABEL];
      if (pool !== undefined)
        findings.push(
          warning(
            `pod ${metadata.name} runs on node ${spec?.nodeName} of pool ${pool}: if the link of the pool is cut, this part of the manager stops working`,
            hint,
          ),
        );
    }
    return findings.length === 0 ? [ok('all Deployments are available')] : findings;
  },
};
