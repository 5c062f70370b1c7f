/** Filters that are disabled with an option of the hub. */
import { ENDPOINT_SLICES, type KubeObject, SERVICES } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { Edge, HUB_ADDRESS, NODE } from '../support/edge.ts';
import { nodesIn, SHARED_BY_PROXY, service, slice, soon } from '../support/edge-objects.ts';

const ON_NODE = { 'openyurt.io/topologyKeys': 'kubernetes.io/hostname' };
const KUBERNETES = { namespace: 'default', name: 'kubernetes' };

const named = <T extends KubeObject>(items: T[], name: string): T | undefined =>
  items.find(({ metadata }) => metadata.name === name);

describe('disabled filters', () => {
  it('change nothing', async () => {
    const other = await Edge.start({ disabledFilters: ['servicetopology', 'masterservice'] });
    try {
      const real = await other.admin.get(SERVICES, KUBERNETES);
      expect(await other.node().get(SERVICES, KUBERNETES)).toEqual(real);
      await other.admin.create(SERVICES, service('on-node', { annotations: ON_NODE }));
      await other.admin.create(ENDPOINT_SLICES, slice('on-node', [NODE, 'far']));
      await other.allowReading('p', SHARED_BY_PROXY);
      const client = other.bearer(await other.token('p'), 'kube-proxy');
      await soon(async () => {
        const { items } = await client.list(ENDPOINT_SLICES, { namespace: 'default' });
        expect(nodesIn(named(items, 'on-node-1'))).toEqual([NODE, 'far']);
        // The other filters still apply.
        expect(named(items, 'kubernetes')).toMatchObject({ endpoints: [{ addresses: [HUB_ADDRESS] }] });
      });
    } finally {
      await other.stop();
    }
  });
});
