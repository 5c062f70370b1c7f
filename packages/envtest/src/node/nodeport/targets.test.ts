import type { EndpointSlice, Service } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import { targetsOf } from './targets.ts';

const service = (spec: Service['spec']): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's', namespace: 'default' },
  spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }], ...spec },
});

type Endpoints = EndpointSlice['endpoints'];

const slice = (endpoints: Endpoints, ports: EndpointSlice['ports'] = [{ port: 8080 }]): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 's-1', namespace: 'default' },
  addressType: 'IPv4',
  endpoints,
  ports,
});

const ready = { addresses: ['127.64.1.2'], nodeName: 'a', conditions: { ready: true } };
const elsewhere = { addresses: ['127.64.2.2'], nodeName: 'b' };
const notReady = { addresses: ['127.64.1.3'], nodeName: 'a', conditions: { ready: false } };
const leaving = {
  addresses: ['127.64.1.4'],
  nodeName: 'a',
  conditions: { ready: false, serving: true, terminating: true },
};

const addressesOf = (given: Service, ...slices: EndpointSlice[]): string[] =>
  targetsOf(given, slices, 'a').flatMap(({ endpoints }) => endpoints.map(({ address }) => address));

describe('the targets of a Service', () => {
  test('are its ready endpoints in all slices', () => {
    expect(targetsOf(service({}), [slice([ready, notReady, leaving]), slice([elsewhere])], 'a')).toEqual([
      {
        nodePort: 30080,
        affinityMs: undefined,
        endpoints: [
          { address: '127.64.1.2', port: 8080 },
          { address: '127.64.2.2', port: 8080 },
        ],
      },
    ]);
  });

  test('are terminating endpoints that still serve while none is ready', () => {
    expect(addressesOf(service({}), slice([notReady, leaving]))).toEqual(['127.64.1.4']);
  });

  test('stay on the node with externalTrafficPolicy Local', () => {
    const local = service({ externalTrafficPolicy: 'Local' });
    expect(addressesOf(local, slice([ready, elsewhere]))).toEqual(['127.64.1.2']);
    expect(addressesOf(local, slice([elsewhere]))).toEqual([]);
  });

  test('resolve a port by its name', () => {
    const ports = [
      { name: 'web', port: 80, nodePort: 30080 },
      { name: 'admin', port: 81, nodePort: 30081 },
      { name: 'dns', port: 53, nodePort: 30053, protocol: 'UDP' },
    ];
    const both = slice(
      [ready],
      [
        { name: 'admin', port: 9000 },
        { name: 'web', port: 8080 },
      ],
    );
    const targets = targetsOf(service({ ports }), [both], 'a');
    expect(targets.map(({ nodePort, endpoints }) => [nodePort, endpoints[0]?.port])).toEqual([
      [30080, 8080],
      [30081, 9000],
    ]);
  });

  test('keep a client for three hours, or for as long as the Service specifies', () => {
    const sticky = service({ sessionAffinity: 'ClientIP' });
    expect(targetsOf(sticky, [], 'a')[0]?.affinityMs).toBe(10_800_000);
    const brief = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } };
    expect(targetsOf(service(brief), [], 'a')[0]?.affinityMs).toBe(5_000);
  });

  test('exist only for Services with a node port', () => {
    expect(targetsOf(service({ type: 'ClusterIP' }), [], 'a')).toEqual([]);
    expect(targetsOf(service({ type: 'LoadBalancer', ports: [{ port: 80 }] }), [], 'a')).toEqual([]);
    expect(targetsOf(service({ type: 'LoadBalancer' }), [], 'a')).toHaveLength(1);
  });
});
