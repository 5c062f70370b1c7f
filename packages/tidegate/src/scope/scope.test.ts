import type { EndpointSlice, Endpoints, KubeObject } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  EDGE_APPLICATION_LABEL,
  type PoolKind,
  SERVICE_TOPOLOGY_ANNOTATION,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../api/index.ts';
import {
  type EndpointClient,
  filterEndpointSlice,
  filterEndpoints,
  type PoolLookup,
  visible,
} from './index.ts';

const service = (metadata: KubeObject['metadata']): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata,
});
const byApplication = service({ labels: { [EDGE_APPLICATION_LABEL]: 'app' } });
const byKubeEdge = service({ annotations: { [SERVICE_TOPOLOGY_ANNOTATION]: 'range-nodegroup' } });
const byOpenYurt = (keys: string): KubeObject =>
  service({ annotations: { [TOPOLOGY_KEYS_ANNOTATION]: keys } });
const plain = service({});

const slice = (nodes: (string | undefined)[]): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 's-1', namespace: 'ns', labels: { 'kubernetes.io/service-name': 's' } },
  addressType: 'IPv4',
  endpoints: nodes.map((nodeName, i) => ({ addresses: [`10.0.0.${i}`], ...(nodeName && { nodeName }) })),
});

/**
 * Nodes `a1` and `a2` are in the NodeGroup `a`, and `b1` in `b`. `p1` and `p2` are in the NodePool `p` only. `x` and
 * `y` are in no pool.
 */
const membership: PoolLookup = {
  poolOf: (kind, node) => {
    if (kind === 'NodeGroup') return /^[ab]\d/.test(node) ? node[0] : undefined;
    return node.startsWith('p') ? 'p' : undefined;
  },
};
const see = (
  restricted: KubeObject | undefined,
  clientNode: string,
  nodeName?: string,
  ingressController = false,
) => {
  const { visible: seen, reason } = visible({
    membership,
    service: restricted,
    clientNode,
    ingressController,
    endpoint: { nodeName },
  });
  return `${seen ? 'seen' : 'hidden'} ${reason}`;
};

describe('visible', () => {
  it.each([
    ['the label that EdgeApplications set', byApplication],
    ['the KubeEdge annotation', byKubeEdge],
    ['the OpenYurt topology key for pools', byOpenYurt('openyurt.io/nodepool')],
    ['the zone topology key, which OpenYurt treats as the pool', byOpenYurt('kubernetes.io/zone')],
    ['the widest of several topology keys', byOpenYurt('kubernetes.io/hostname, openyurt.io/nodepool')],
  ])('limits clients to their pool with %s', (_, restricted) => {
    expect(see(restricted, 'a1', 'a2')).toBe('seen SamePool');
    expect(see(restricted, 'a1', 'b1')).toBe('hidden OtherPool');
    expect(see(restricted, 'p1', 'p2')).toBe('seen SamePool');
    expect(see(restricted, 'a1', 'x')).toBe('hidden OtherPool');
    expect(see(restricted, 'x', 'x')).toBe('seen SameNode');
    expect(see(restricted, 'x', 'y')).toBe('hidden ClientWithoutPool');
    expect(see(restricted, 'a1')).toBe('hidden EndpointWithoutNode');
  });

  it('limits clients to their node', () => {
    const restricted = byOpenYurt('kubernetes.io/hostname');
    expect(see(restricted, 'a1', 'a1')).toBe('seen SameNode');
    expect(see(restricted, 'a1', 'a2')).toBe('hidden OtherNode');
  });

  it.each([
    ['the Service has no restriction', plain],
    ['the topology key is unknown', byOpenYurt('example.com/rack')],
    ['the topology keys include "*"', byOpenYurt('kubernetes.io/hostname,*')],
    [
      'the KubeEdge annotation has another value',
      service({ annotations: { [SERVICE_TOPOLOGY_ANNOTATION]: 'x' } }),
    ],
  ])('shows all endpoints if %s', (_, restricted) => {
    expect(see(restricted, 'a1', 'b1')).toBe('seen NotScoped');
    expect(see(restricted, 'a1')).toBe('seen NotScoped');
  });

  it('applies all restrictions of a Service together', () => {
    const both = service({
      labels: { [EDGE_APPLICATION_LABEL]: 'app' },
      annotations: { [TOPOLOGY_KEYS_ANNOTATION]: 'kubernetes.io/hostname' },
    });
    expect(see(both, 'a1', 'a2')).toBe('hidden OtherNode');
  });

  it('hides endpoints of an unknown Service', () => {
    expect(see(undefined, 'a1', 'a1')).toBe('hidden UnknownService');
  });

  it('limits an ingress controller to its pool even without a restriction on the Service', () => {
    expect(see(plain, 'p1', 'p2', true)).toBe('seen SamePool');
    expect(see(plain, 'p1', 'a1', true)).toBe('hidden OtherPool');
    expect(see(undefined, 'p1', 'p2', true)).toBe('hidden UnknownService');
  });

  it('treats an ingress controller outside every pool like any other client', () => {
    expect(see(plain, 'x', 'a1', true)).toBe('seen NotScoped');
    expect(see(plain, 'x', undefined, true)).toBe('seen NotScoped');
    expect(see(byApplication, 'x', 'a1', true)).toBe('hidden ClientWithoutPool');
  });
});

describe('filters', () => {
  const client: EndpointClient = { membership, service: byKubeEdge, clientNode: 'a1' };

  it('return the same object if nothing is withheld', () => {
    const whole = slice(['a1', 'a2']);
    expect(filterEndpointSlice(whole, client).object).toBe(whole);
    const endpoints: Endpoints = {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 's' },
      subsets: [{ addresses: [{ ip: '10.0.0.1', nodeName: 'a2' }] }],
    };
    expect(filterEndpoints(endpoints, client).object).toBe(endpoints);
  });

  it('keep an empty slice, and read the node name of a v1beta1 slice', () => {
    const old = slice([undefined]);
    old.endpoints = [
      { addresses: ['10.0.0.1'], ...{ topology: { 'kubernetes.io/hostname': 'a2' } } },
      { addresses: ['10.0.0.2'], ...{ topology: { 'kubernetes.io/hostname': 'b1' } } },
    ];
    expect(filterEndpointSlice(old, client).object.endpoints).toHaveLength(1);
    expect(filterEndpointSlice(slice(['b1']), client).object.endpoints).toEqual([]);
  });

  it('drop hidden addresses that are not ready, and empty subsets', () => {
    const { object, withheld } = filterEndpoints(
      {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 's' },
        subsets: [
          { addresses: [{ ip: '1', nodeName: 'b1' }], notReadyAddresses: [{ ip: '2', nodeName: 'a2' }] },
          { addresses: [{ ip: '3' }] },
        ],
      },
      client,
    );
    expect(object.subsets).toEqual([{ addresses: [], notReadyAddresses: [{ ip: '2', nodeName: 'a2' }] }]);
    expect(withheld.map(({ reason }) => reason)).toEqual(['OtherPool', 'EndpointWithoutNode']);
  });
});

describe('compared with a model that lists the nodes a client may see', () => {
  const NODES = ['n1', 'n2', 'n3', 'n4'];
  const pools = fc.record({
    NodePool: fc.dictionary(fc.constantFrom(...NODES), fc.constantFrom('p', 'q')),
    NodeGroup: fc.dictionary(fc.constantFrom(...NODES), fc.constantFrom('g', 'h')),
  });
  const restriction = fc.constantFrom(
    { service: plain, node: false, kinds: undefined },
    { service: byApplication, node: false, kinds: ['NodeGroup', 'NodePool'] as PoolKind[] },
    { service: byKubeEdge, node: false, kinds: ['NodeGroup', 'NodePool'] as PoolKind[] },
    {
      service: byOpenYurt('openyurt.io/nodepool'),
      node: false,
      kinds: ['NodePool', 'NodeGroup'] as PoolKind[],
    },
    { service: byOpenYurt('kubernetes.io/hostname'), node: true, kinds: undefined },
  );

  it('keeps exactly the endpoints on those nodes', () => {
    fc.assert(
      fc.property(
        pools,
        restriction,
        fc.constantFrom(...NODES),
        fc.array(fc.option(fc.constantFrom(...NODES), { nil: undefined })),
        (inPool, how, client, nodes) => {
          const kind = how.kinds?.find((k) => inPool[k][client] !== undefined);
          const mates =
            kind === undefined ? [] : NODES.filter((n) => inPool[kind][n] === inPool[kind][client]);
          const restricted = how.node || how.kinds !== undefined;
          const allowed = new Set<string | undefined>(
            restricted ? [client, ...mates] : [...NODES, undefined],
          );
          const lookup: PoolLookup = { poolOf: (k, n) => inPool[k][n] };
          const { object } = filterEndpointSlice(slice(nodes), {
            membership: lookup,
            service: how.service,
            clientNode: client,
          });
          expect(object.endpoints.map((e) => e.nodeName)).toEqual(nodes.filter((n) => allowed.has(n)));
        },
      ),
    );
  });
});
