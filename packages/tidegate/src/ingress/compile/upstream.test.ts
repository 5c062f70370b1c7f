import type { EndpointSlice, Service } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import { service, slice } from '../testing/objects.ts';
import { upstreamReference } from './backend.ts';
import { resolveUpstream } from './upstream.ts';

const reference = (port: { name?: string; number?: number } = { number: 80 }) =>
  upstreamReference('shop', { service: { name: 'web', port } }, { protocol: 'http', balance: 'roundRobin' });

const endpoints = (
  of: Service,
  slices: EndpointSlice[],
  port?: { name?: string; number?: number },
): string[] =>
  resolveUpstream(reference(port), of, slices).upstream.endpoints.map(
    (each) => `${each.address}:${each.port}`,
  );

const TERMINATING = { ready: false, serving: true, terminating: true };

describe('endpoints of an upstream', () => {
  test.each([
    [
      'ready, or without conditions',
      { '10.0.0.2': {}, '10.0.0.1': { ready: true } },
      ['10.0.0.1', '10.0.0.2'],
    ],
    ['not ready', { '10.0.0.1': { ready: false } }, []],
    ['terminating, with another ready endpoint', { '10.0.0.1': TERMINATING, '10.0.0.2': {} }, ['10.0.0.2']],
    [
      'terminating, without ready endpoints',
      { '10.0.0.1': TERMINATING, '10.0.0.2': { ready: false } },
      ['10.0.0.1'],
    ],
    ['terminating and not serving', { '10.0.0.1': { ...TERMINATING, serving: false } }, []],
    // With publishNotReadyAddresses, endpoints are always ready.
    [
      'terminating and ready',
      { '10.0.0.1': { ...TERMINATING, ready: true }, '10.0.0.2': {} },
      ['10.0.0.1', '10.0.0.2'],
    ],
  ])('%s', (_, given, expected) => {
    expect(endpoints(service('web'), [slice('web', given)])).toEqual(expected.map((each) => `${each}:8080`));
  });

  test('is the address of the Service if the Ingress asks for it and there is one', () => {
    const port = { service: { name: 'web', port: { name: 'http' } } };
    const options = { protocol: 'http', balance: 'roundRobin', usesAddress: true } as const;
    const own = upstreamReference('shop', port, options);
    expect(own.id).toBe('shop_web_http_address');
    const [made, slices] = [service('web'), [slice('web', { '10.0.0.1': {} })]];
    for (const [clusterIP, expected] of [
      ['10.96.0.9', { address: '10.96.0.9', port: 80 }],
      ['None', { address: '10.0.0.1', port: 8080 }],
      [undefined, { address: '10.0.0.1', port: 8080 }],
    ] as const) {
      const spec = { ...made.spec, ...(clusterIP && { clusterIP }) };
      expect(resolveUpstream(own, { ...made, spec }, slices).upstream.endpoints).toEqual([expected]);
    }
  });

  test('merges slices without duplicates, with the port of each slice', () => {
    const slices = [
      slice('web', { '10.0.0.1': {}, '10.0.0.2': {} }, { name: 'x' }),
      slice('web', { '10.0.0.1': {} }, { name: 'y' }),
      slice('web', { '10.0.0.3': {} }, { name: 'z', ports: { http: 9090 } }),
      slice('web', { '10.0.0.4': {} }, { name: 'w', ports: { admin: 1 } }),
    ];
    expect(endpoints(service('web'), slices)).toEqual(['10.0.0.1:8080', '10.0.0.2:8080', '10.0.0.3:9090']);
  });

  test('prefers the first address family of the Service, if it has ready endpoints', () => {
    const four = slice('web', { '10.0.0.1': {} });
    const six = slice('web', { 'fd00::1': {} }, { name: 'six' });
    const prefersSix = { ...service('web'), spec: { ...service('web').spec, ipFamilies: ['IPv6', 'IPv4'] } };
    expect(endpoints(service('web'), [six, four])).toEqual(['10.0.0.1:8080']);
    expect(endpoints(prefersSix, [six, four])).toEqual(['fd00::1:8080']);
    expect(endpoints(service('web'), [six, slice('web', { '10.0.0.1': TERMINATING })])).toEqual([
      'fd00::1:8080',
    ]);
  });

  test('ignores slices with DNS names', () => {
    const named = { ...slice('web', { 'example.com': {} }), addressType: 'FQDN' };
    expect(endpoints(service('web'), [named])).toEqual([]);
  });
});

describe('ports of an upstream', () => {
  const two = service('web', ['http:80', 'admin:81']);
  const slices = [slice('web', { '10.0.0.1': {} }, { ports: { http: 8080, admin: 8081 } })];

  test('map a number or a name through the Service to the port of the slice', () => {
    expect(endpoints(two, slices, { number: 81 })).toEqual(['10.0.0.1:8081']);
    expect(endpoints(two, slices, { name: 'admin' })).toEqual(['10.0.0.1:8081']);
  });

  test('can have no name', () => {
    expect(
      endpoints(service('web', [':80']), [slice('web', { '10.0.0.1': {} }, { ports: { '': 8080 } })]),
    ).toEqual(['10.0.0.1:8080']);
  });

  test('are those of the Service, not of the endpoints', () => {
    expect(resolveUpstream(reference({ number: 8080 }), two, slices)).toMatchObject({
      upstream: { problem: 'noPort', endpoints: [] },
      trouble: {
        reason: 'PortNotFound',
        message:
          'Service shop/web has no TCP port 8080; it has http (80), admin (81). Requests get the response 503.',
      },
    });
  });

  test('cannot be UDP', () => {
    const udp = { ...two, spec: { ports: [{ port: 80, protocol: 'UDP' }] } };
    expect(resolveUpstream(reference(), udp, slices).upstream.problem).toBe('noPort');
  });
});

describe('ExternalName', () => {
  const external = (externalName: string, ports: string[] = []): Service => ({
    ...service('web'),
    spec: { ...service('web', ports).spec, type: 'ExternalName', externalName },
  });

  test.each([
    ['example.com', 'example.com'],
    ['Example.com.', 'example.com'],
  ])('accepts %s as %s', (written, address) => {
    expect(endpoints(external(written), [])).toEqual([`${address}:80`]);
  });

  test.each([
    'localhost',
    'x.localhost',
    '127.0.0.1',
    '169.254.169.254',
    '::1',
    '10.0.0.1',
    '',
    'a b',
    '*.example.com',
  ])('rejects %j', (name) => {
    expect(resolveUpstream(reference(), external(name), [])).toMatchObject({
      upstream: { problem: 'notSupported', endpoints: [] },
      trouble: { reason: 'ExternalNameRefused' },
    });
  });

  test('requires that the Service has a port that is given by name', () => {
    expect(endpoints(external('example.com', ['http:81']), [], { name: 'http' })).toEqual(['example.com:81']);
    expect(resolveUpstream(reference({ name: 'none' }), external('example.com'), []).upstream.problem).toBe(
      'noPort',
    );
  });
});

test('a Service with another protocol or balancing is another upstream', () => {
  const id = (protocol: 'http' | 'https' | 'grpc', balance: 'roundRobin' | 'leastConnections'): string =>
    upstreamReference('shop', { service: { name: 'web', port: { name: 'http' } } }, { protocol, balance }).id;
  expect(id('http', 'roundRobin')).toBe('shop_web_http');
  expect(id('grpc', 'roundRobin')).toBe('shop_web_http_grpc');
  expect(id('https', 'leastConnections')).toBe('shop_web_http_https_leastConnections');
});
