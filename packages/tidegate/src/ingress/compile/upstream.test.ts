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

describe('endpoints', () => {
  test.each([
    ['ready, or nothing said', { '10.0.0.2': {}, '10.0.0.1': { ready: true } }, ['10.0.0.1', '10.0.0.2']],
    ['not ready', { '10.0.0.1': { ready: false } }, []],
    ['ending, beside a ready one', { '10.0.0.1': TERMINATING, '10.0.0.2': {} }, ['10.0.0.2']],
    ['ending, and nothing else', { '10.0.0.1': TERMINATING, '10.0.0.2': { ready: false } }, ['10.0.0.1']],
    ['ending and silent', { '10.0.0.1': { ...TERMINATING, serving: false } }, []],
    // As with publishNotReadyAddresses.
    [
      'ending and said to be ready',
      { '10.0.0.1': { ...TERMINATING, ready: true }, '10.0.0.2': {} },
      ['10.0.0.1', '10.0.0.2'],
    ],
  ])('%s', (_, given, expected) => {
    expect(endpoints(service('web'), [slice('web', given)])).toEqual(expected.map((each) => `${each}:8080`));
  });

  test('of several slices, each once, with the port of its slice', () => {
    const slices = [
      slice('web', { '10.0.0.1': {}, '10.0.0.2': {} }, { name: 'x' }),
      slice('web', { '10.0.0.1': {} }, { name: 'y' }),
      slice('web', { '10.0.0.3': {} }, { name: 'z', ports: { http: 9090 } }),
      slice('web', { '10.0.0.4': {} }, { name: 'w', ports: { admin: 1 } }),
    ];
    expect(endpoints(service('web'), slices)).toEqual(['10.0.0.1:8080', '10.0.0.2:8080', '10.0.0.3:9090']);
  });

  test('of two families: of the first one that the Service has, as long as it has any', () => {
    const four = slice('web', { '10.0.0.1': {} });
    const six = slice('web', { 'fd00::1': {} }, { name: 'six' });
    const prefersSix = { ...service('web'), spec: { ...service('web').spec, ipFamilies: ['IPv6', 'IPv4'] } };
    expect(endpoints(service('web'), [six, four])).toEqual(['10.0.0.1:8080']);
    expect(endpoints(prefersSix, [six, four])).toEqual(['fd00::1:8080']);
    expect(endpoints(service('web'), [six, slice('web', { '10.0.0.1': TERMINATING })])).toEqual([
      'fd00::1:8080',
    ]);
  });

  test('names in slices are not followed', () => {
    const named = { ...slice('web', { 'example.com': {} }), addressType: 'FQDN' };
    expect(endpoints(service('web'), [named])).toEqual([]);
  });
});

describe('ports', () => {
  const two = service('web', ['http:80', 'admin:81']);
  const slices = [slice('web', { '10.0.0.1': {} }, { ports: { http: 8080, admin: 8081 } })];

  test('by number and by name lead through the Service to the port of the slice', () => {
    expect(endpoints(two, slices, { number: 81 })).toEqual(['10.0.0.1:8081']);
    expect(endpoints(two, slices, { name: 'admin' })).toEqual(['10.0.0.1:8081']);
  });

  test('without a name', () => {
    expect(
      endpoints(service('web', [':80']), [slice('web', { '10.0.0.1': {} }, { ports: { '': 8080 } })]),
    ).toEqual(['10.0.0.1:8080']);
  });

  test('of the endpoint are not those of the Service', () => {
    expect(resolveUpstream(reference({ number: 8080 }), two, slices)).toMatchObject({
      upstream: { problem: 'noPort', endpoints: [] },
      trouble: {
        reason: 'PortNotFound',
        message:
          'Service shop/web has no TCP port 8080; it has http (80), admin (81). Requests are answered 503.',
      },
    });
  });

  test('of UDP carry no requests', () => {
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
  ])('%s is resolved later, as %s', (written, address) => {
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
  ])('%j is refused', (name) => {
    expect(resolveUpstream(reference(), external(name), [])).toMatchObject({
      upstream: { problem: 'notSupported', endpoints: [] },
      trouble: { reason: 'ExternalNameRefused' },
    });
  });

  test('a port by name has to be in the Service', () => {
    expect(endpoints(external('example.com', ['http:81']), [], { name: 'http' })).toEqual(['example.com:81']);
    expect(resolveUpstream(reference({ name: 'none' }), external('example.com'), []).upstream.problem).toBe(
      'noPort',
    );
  });
});

test('asked for in another way, a Service is another upstream', () => {
  const id = (protocol: 'http' | 'https' | 'grpc', balance: 'roundRobin' | 'leastConnections'): string =>
    upstreamReference('shop', { service: { name: 'web', port: { name: 'http' } } }, { protocol, balance }).id;
  expect(id('http', 'roundRobin')).toBe('shop_web_http');
  expect(id('grpc', 'roundRobin')).toBe('shop_web_http_grpc');
  expect(id('https', 'leastConnections')).toBe('shop_web_http_https_leastConnections');
});
