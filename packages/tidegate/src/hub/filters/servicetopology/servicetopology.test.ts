import { Metrics } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { TOPOLOGY_KEYS_ANNOTATION } from '../../../api/index.ts';
import { contextOf } from '../testing/context.ts';
import { endpoints, nodePool, service, slice } from '../testing/objects.ts';
import { serviceTopology } from './index.ts';

const inPool = { annotations: { [TOPOLOGY_KEYS_ANNOTATION]: 'openyurt.io/nodepool' } };
const onNode = { annotations: { [TOPOLOGY_KEYS_ANNOTATION]: 'kubernetes.io/hostname' } };
const objects = [
  nodePool('a', ['a1', 'a2']),
  service('plain'),
  service('pool', inPool),
  service('node', onNode),
];

describe('servicetopology', () => {
  const { context } = contextOf(objects);
  const filter = serviceTopology(new Metrics());

  it('returns the same object when no endpoint is removed', () => {
    const nodes = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? 'a1' : 'a2'));
    for (const of of ['plain', 'pool']) {
      const [whole, old] = [slice(of, nodes), endpoints(of, nodes)];
      expect(filter.apply(whole, context)).toBe(whole);
      expect(filter.apply(old, context)).toBe(old);
    }
  });

  it('depends on the Service, and on the pools of nodes only if the Service is limited to a pool', () => {
    const nodes = ['b1', 'a2', 'b1', undefined];
    expect(filter.dependsOn?.(slice('plain', nodes), context)).toEqual(['service:shop/plain']);
    expect(filter.dependsOn?.(slice('node', nodes), context)).toEqual(['service:shop/node']);
    expect(filter.dependsOn?.(slice('ghost', nodes), context)).toEqual(['service:shop/ghost']);
    for (const object of [slice('pool', nodes), endpoints('pool', nodes)]) {
      expect(filter.dependsOn?.(object, context)).toEqual([
        'service:shop/pool',
        'node:b1',
        'node:a2',
        'node:a1',
      ]);
    }
  });

  it('counts the endpoints that it removes, by reason', async () => {
    const metrics = new Metrics();
    const counting = serviceTopology(metrics);
    counting.apply(slice('pool', ['a1', 'b1', 'b1', undefined]), context);
    counting.apply(endpoints('ghost', ['a1']), context);
    const text = await metrics.scrape();
    expect(text).toContain(
      'tidegate_hub_endpoints_withheld_total{filter="servicetopology",reason="OtherPool"} 2',
    );
    expect(text).toContain('{filter="servicetopology",reason="EndpointWithoutNode"} 1');
    expect(text).toContain('{filter="servicetopology",reason="UnknownService"} 1');
  });
});
