import type { Ingress } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import type { L7Router } from '../api/index.ts';
import { frontDoors, tryOut } from './front-doors.ts';
import { poolReports } from './pools.ts';
import type { NodeReport } from './report.ts';
import { readMetrics } from './routers.ts';
import { routeReports } from './routes.ts';

const node = (name: string, pool: string, more: Partial<NodeReport> = {}): NodeReport => ({
  name,
  ready: 'True',
  address: '127.64.0.1',
  link: 'up',
  labels: { 'apps.kubeedge.io/belonging-to': pool },
  ...more,
});

const router = (
  name: string,
  spec: Partial<L7Router['spec']>,
  status: L7Router['status'] = {},
): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name },
  spec: { ingressClassName: name, driver: 'nginx', ...spec },
  status,
});

const backend = { service: { name: 'shop', port: { number: 80 } } };
const ingress = (ingressClassName: string, ...hosts: (string | undefined)[]): Ingress => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { namespace: 'default', name: 'shop' },
  spec: {
    ingressClassName,
    rules: hosts.map((host) => ({ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } })),
  },
});

describe('pools', () => {
  test('are up, cut or partly cut, and count those of their nodes that are ready', () => {
    const nodes = [
      node('a', 'hangzhou', { link: 'cut' }),
      node('b', 'hangzhou', { link: 'cut', ready: 'Unknown' }),
      node('c', 'beijing', { link: 'cut' }),
      node('d', 'beijing'),
    ];
    expect(poolReports(nodes, undefined)).toEqual([
      { name: 'hangzhou', kind: 'NodeGroup', nodes: ['a', 'b'], readyNodes: 1, link: 'cut' },
      { name: 'beijing', kind: 'NodeGroup', nodes: ['c', 'd'], readyNodes: 2, link: 'partly' },
    ]);
  });

  test('without nodes are there too', () => {
    const nodePools = [
      { apiVersion: 'apps.openyurt.io/v1beta2', kind: 'NodePool', metadata: { name: 'empty' } },
    ];
    expect(poolReports([], { nodePools, nodeGroups: [] })).toEqual([
      { name: 'empty', kind: 'NodePool', nodes: [], readyNodes: 0, link: 'up' },
    ]);
  });
});

describe('routes', () => {
  test('are served by the routers of their class that have their host; those for all hosts by all of them', () => {
    const routers = [
      router('gold', { hosts: ['a.example'] }),
      router('gold-2', { ingressClassName: 'gold', hosts: [] }),
    ];
    const routes = routeReports([ingress('gold', 'a.example', 'new.example', undefined)], routers);
    expect(routes.map(({ host, frontDoors: doors }) => [host, doors])).toEqual([
      ['a.example', ['gold']],
      ['new.example', []],
      ['*', ['gold', 'gold-2']],
    ]);
    expect(routes[0]).toMatchObject({ ingress: 'default/shop', path: '/', service: 'shop:80' });
  });

  test('for whatever has no rule are told as well', () => {
    const object = ingress('gold');
    object.spec = { ingressClassName: 'gold', defaultBackend: backend };
    expect(routeReports([object], [])).toMatchObject([{ host: '*', path: '/', frontDoors: [] }]);
  });
});

describe('front doors', () => {
  const addresses = [{ ip: '127.64.0.1', ports: [{ port: 30080, protocol: 'TCP' }] }];

  test('say where a request can be tried', () => {
    const routers = [router('hangzhou', { pool: 'hangzhou' }, { addresses })];
    const [door] = frontDoors(
      routers,
      routeReports([ingress('hangzhou', '*.example', 'www.example')], routers),
    );
    expect(door).toMatchObject({ urls: ['http://127.64.0.1:30080'], ready: 'Unknown', rules: 2 });
    expect(tryOut(door!)).toEqual({ url: 'http://127.64.0.1:30080', host: 'www.example' });
  });

  test('without an address or a name there is nothing to try', () => {
    expect(frontDoors([router('x', {}), router('y', {}, { addresses })], []).map(tryOut)).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('a router tells its data plane and its last change', () => {
    const text = [
      '# HELP tidegate_router_data_plane Always 1',
      'tidegate_router_data_plane{name="embedded"} 1',
      'tidegate_router_last_change_timestamp_seconds 1700000000.5',
    ].join('\n');
    expect(readMetrics(text)).toEqual({ dataPlane: 'embedded', lastChange: '2023-11-14T22:13:20.500Z' });
    expect(readMetrics('tidegate_router_last_change_timestamp_seconds 0')).toEqual({});
  });
});
