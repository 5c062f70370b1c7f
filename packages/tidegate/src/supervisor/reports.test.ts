import type { Ingress } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import type { L7Router } from '../api/index.ts';
import { frontDoors, sampleRequest } from './front-doors.ts';
import type { NodeReport } from './node-reports.ts';
import { poolReports } from './pools.ts';
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
  test('show whether their link is up, cut or partially cut, and how many nodes are ready', () => {
    const nodes = [
      node('a', 'hangzhou', { link: 'cut' }),
      node('b', 'hangzhou', { link: 'cut', ready: 'Unknown' }),
      node('c', 'beijing', { link: 'cut' }),
      node('d', 'beijing'),
    ];
    expect(poolReports(nodes, undefined)).toEqual([
      { name: 'hangzhou', kind: 'NodeGroup', nodes: ['a', 'b'], readyNodes: 1, link: 'cut' },
      { name: 'beijing', kind: 'NodeGroup', nodes: ['c', 'd'], readyNodes: 2, link: 'partial' },
    ]);
  });

  test('include pools without nodes', () => {
    const nodePools = [
      { apiVersion: 'apps.openyurt.io/v1beta2', kind: 'NodePool', metadata: { name: 'empty' } },
    ];
    expect(poolReports([], { nodePools, nodeGroups: [] })).toEqual([
      { name: 'empty', kind: 'NodePool', nodes: [], readyNodes: 0, link: 'up' },
    ]);
  });
});

describe('routes', () => {
  test('list the routers of the class that have the host; a rule without a host is on all of them', () => {
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

  test('include default backends', () => {
    const object = ingress('gold');
    object.spec = { ingressClassName: 'gold', defaultBackend: backend };
    expect(routeReports([object], [])).toMatchObject([{ host: '*', path: '/', frontDoors: [] }]);
  });
});

describe('front doors', () => {
  const addresses = [{ ip: '127.64.0.1', ports: [{ port: 30080, protocol: 'TCP' }] }];

  test('show a request that can be tried', () => {
    const routers = [router('hangzhou', { pool: 'hangzhou' }, { addresses })];
    const [door] = frontDoors(
      routers,
      routeReports([ingress('hangzhou', '*.example', 'www.example')], routers),
    );
    expect(door).toMatchObject({ urls: ['http://127.64.0.1:30080'], ready: 'Unknown', rules: 2 });
    expect(sampleRequest(door!)).toEqual({ url: 'http://127.64.0.1:30080', host: 'www.example' });
  });

  test('without an address or an exact host offer no request to try', () => {
    expect(frontDoors([router('x', {}), router('y', {}, { addresses })], []).map(sampleRequest)).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('on a load balancer elsewhere have an address, but are not queried', () => {
    const routers = [router('cloud', { driver: 'octavia' }, { addresses: [{ ip: '2001:db8::1' }] })];
    const [door] = frontDoors(routers, routeReports([ingress('cloud', 'www.example')], routers));
    expect(door).toMatchObject({ urls: ['http://[2001:db8::1]'], elsewhere: 'octavia' });
    expect(sampleRequest(door!)).toBeUndefined();
  });

  test("reads the data plane and the time of a router's last change from the metrics of its pod", () => {
    const change = 'tidegate_router_last_change_timestamp_seconds';
    const text = [
      '# HELP tidegate_router_data_plane Always 1',
      'tidegate_router_data_plane{name="embedded"} 1',
      // Several routers can share a pod.
      `${change}{router="silver"} 1600000000`,
      `${change}{router="gold"} 1700000000.5`,
    ].join('\n');
    const gold = { dataPlane: 'embedded', lastChange: '2023-11-14T22:13:20.500Z' };
    expect(readMetrics(text, 'gold')).toEqual(gold);
    expect(readMetrics(text, 'bronze')).toEqual({ dataPlane: 'embedded' });
    expect(readMetrics(`${change}{router="gold"} 0`, 'gold')).toEqual({});
    // Older routers have no label.
    expect(readMetrics(`${change} 1700000000.5`, 'gold')).toEqual({ lastChange: gold.lastChange });
  });
});
