import { expect, it } from 'vitest';
import { legacySliceConversion } from './legacy.ts';

const slice = (endpoint: object) => ({
  apiVersion: 'discovery.k8s.io/v1beta1',
  kind: 'EndpointSlice',
  metadata: { name: 'x' },
  endpoints: [endpoint],
});

const topology = {
  'kubernetes.io/hostname': 'n1',
  'topology.kubernetes.io/zone': 'z1',
  'example.com/rack': 'r1',
};

it('converts node and zone from the topology and keeps the rest', () => {
  const stored = legacySliceConversion.toStorage(slice({ addresses: ['10.0.0.1'], topology }));
  expect(stored.apiVersion).toBe('discovery.k8s.io/v1');
  expect(stored.endpoints).toEqual([
    { addresses: ['10.0.0.1'], nodeName: 'n1', zone: 'z1', deprecatedTopology: { 'example.com/rack': 'r1' } },
  ]);
});

it('converts them back to the topology', () => {
  const written = slice({ addresses: ['10.0.0.1'], topology });
  const { endpoints } = legacySliceConversion.fromStorage(legacySliceConversion.toStorage(written));
  expect(endpoints).toEqual([{ addresses: ['10.0.0.1'], nodeName: 'n1', topology }]);
});

it('keeps a hostname that differs from the node name', () => {
  const written = slice({
    addresses: ['10.0.0.1'],
    nodeName: 'n2',
    topology: { 'kubernetes.io/hostname': 'n1' },
  });
  expect(legacySliceConversion.toStorage(written).endpoints).toEqual([
    { addresses: ['10.0.0.1'], nodeName: 'n2', deprecatedTopology: { 'kubernetes.io/hostname': 'n1' } },
  ]);
});
