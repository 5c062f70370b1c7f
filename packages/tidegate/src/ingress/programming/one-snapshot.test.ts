import type { Node } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import type { L7Router } from '../../api/index.ts';
import type { Provisioner } from '../provisioners/index.ts';
import { hostClaim, ingress, service, slice } from '../testing/objects.ts';
import { oneSnapshot, type SnapshotObjects } from './one-snapshot.ts';

const router: L7Router = {
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name: 'gold', generation: 3 },
  spec: { ingressClassName: 'gold', driver: 'cloud', hosts: ['a.io', 'b.io'] },
};

const cloud = (endpoints: 'pods' | 'nodePorts'): Provisioner => ({
  ...{ controller: 'tidegate.io/cloud', aliases: [], driver: 'cloud', limits: {}, programming: 'manager' },
  capabilities: new Set(['rulesWithoutHost']),
  parameters: { keys: {} },
  endpointsOf: () => endpoints,
  ensure: () => Promise.reject(new Error('not called')),
  remove: () => Promise.reject(new Error('not called')),
});

const node: Node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1' },
  status: {
    addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
    conditions: [{ type: 'Ready', status: 'True' }],
  },
} as Node;

const web = service('web');
const objects: SnapshotObjects = {
  ingresses: [
    ingress({ name: 'a', rules: { 'a.io/': 'web:80' } }),
    ingress({ name: 'b', rules: { 'b.io/': 'web:80' }, annotations: { 'tidegate.io/max-body-size': '1m' } }),
    ingress({ name: 'c', rules: { 'elsewhere.io/': 'web:80' } }),
  ],
  classes: [],
  services: [
    { ...web, spec: { ...web.spec, ports: [{ name: 'http', port: 80, nodePort: 30_080, protocol: 'TCP' }] } },
  ],
  slices: [slice('web', { '10.0.0.1': { ready: true } })],
  secrets: [],
  claims: ['a.io', 'b.io', 'elsewhere.io'].map((name) => hostClaim(name, 'shop')),
  nodes: [node],
  routePolicies: [],
  clusterRoutePolicies: [],
};

describe('oneSnapshot', () => {
  test('has the hosts of the router, and refuses those that the load balancer cannot serve', () => {
    const { snapshot, refused } = oneSnapshot(router, objects, cloud('pods'), Date.now);
    expect([...snapshot.hosts.keys()]).toEqual(['a.io', 'b.io']);
    expect([...refused.keys()]).toEqual(['b.io']);
    // Without an entry, a wildcard above the host or a rule without a host would answer.
    expect(snapshot.hosts.get('b.io')).toMatchObject({
      routes: [],
      fallback: { backends: [{ upstream: 'shop__closed', weight: 1 }] },
    });
    expect(snapshot.upstreams.get('shop__closed')?.endpoints).toEqual([]);
    expect(snapshot.routerGeneration).toBe(3);
    expect(snapshot.upstreams.get('shop_web_80')?.endpoints).toEqual([{ address: '10.0.0.1', port: 8080 }]);
  });

  test('has node ports in place of pods', () => {
    const { snapshot } = oneSnapshot(router, objects, cloud('nodePorts'), Date.now);
    expect(snapshot.upstreams.get('shop_web_80')?.endpoints).toEqual([
      { address: '192.0.2.1', port: 30_080 },
    ]);
  });
});
