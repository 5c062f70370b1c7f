/** The parts of the manager: ready, and not at a site that can be cut off. */
import { NODES, PODS } from '@tidegate/kube';
import { NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../../api/index.ts';
import { PART_OF_SELECTOR, whatIsMissing } from '../../install/index.ts';
import { type Check, error, ok, warning } from '../check.ts';

export const manager: Check = {
  name: 'manager',
  title: 'Manager',
  when: 'installed',
  async run({ client, namespace, signal }) {
    const missing = await whatIsMissing(client, namespace, signal);
    const findings = missing.map((what) =>
      error(
        `not ready: ${what}`,
        `kubectl -n ${namespace} describe pods -l ${PART_OF_SELECTOR}; kubectl -n ${namespace} logs -l ${PART_OF_SELECTOR}`,
      ),
    );
    const [pods, nodes] = await Promise.all([
      client.list(PODS, { namespace, labelSelector: PART_OF_SELECTOR, signal }),
      client.list(NODES, { signal }),
    ]);
    for (const { metadata, spec } of pods.items) {
      const labels = nodes.items.find(({ metadata: { name } }) => name === spec?.nodeName)?.metadata.labels;
      const pool = labels?.[NODE_POOL_LABEL] ?? labels?.[NODE_GROUP_LABEL];
      if (pool !== undefined)
        findings.push(
          warning(
            `pod ${metadata.name} runs on node ${spec?.nodeName} of pool ${pool}: if the link of the pool is cut, this part of the manager stops working`,
            `delete the pod; it is created on a node outside of pools, unless the value affinity allows others`,
          ),
        );
    }
    return findings.length === 0 ? [ok('all Deployments are available')] : findings;
  },
};
