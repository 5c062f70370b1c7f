import type { Node, Service } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import { Compiler } from '../compile/index.ts';
import { hostClaim, ingress, service, slice } from '../testing/objects.ts';
import { nodePortEndpoints } from './node-ports.ts';
import { RouterRoutes } from './router-routes.ts';

const node = (ready: boolean): Node =>
  ({
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } },
    status: {
      addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  }) as Node;

const withPort = (nodePort: number | undefined): Service => {
  const web = service('web');
  const port = { name: 'http', port: 80, protocol: 'TCP', ...(nodePort !== undefined && { nodePort }) };
  return { ...web, spec: { ...web.spec, ports: [port] } };
};

/** The routes of a router with node ports, whose nodes and Services change. */
function world() {
  const nodes = [node(true)];
  const services = new Map([['shop/web', withPort(30_080)]]);
  const compiler = new Compiler({ classNames: ['gold'], claimsRequired: true, now: Date.now });
  const routes = new RouterRoutes(compiler, nodePortEndpoints(services, { list: () => nodes }));
  compiler.put('HostClaim', hostClaim('a.io', 'shop'));
  compiler.put('Service', service('web'));
  compiler.put('EndpointSlice', slice('web', { '10.0.0.1': { ready: true } }));
  compiler.put('Ingress', ingress({ name: 'a', rules: { 'a.io/': 'web:80' } }));
  routes.setHosts(['a.io']);
  const endpoints = () => {
    routes.changeAllUpstreams();
    const { upstreams } = routes.take(1) ?? {};
    routes.failed();
    return upstreams?.get('shop_web_80')?.endpoints;
  };
  return { nodes, services, endpoints };
}

const NODE_PORT = [{ address: '192.0.2.1', port: 30_080 }];

describe('routes with node ports', () => {
  test('have endpoints again when a node is ready again', () => {
    const { nodes, endpoints } = world();
    expect(endpoints()).toEqual(NODE_PORT);
    nodes[0] = node(false);
    expect(endpoints()).toEqual([]);
    nodes[0] = node(true);
    expect(endpoints()).toEqual(NODE_PORT);
  });

  test('have endpoints when the Service gets a node port later', () => {
    const { services, endpoints } = world();
    services.set('shop/web', withPort(undefined));
    expect(endpoints()).toEqual([]);
    services.set('shop/web', withPort(30_080));
    expect(endpoints()).toEqual(NODE_PORT);
  });
});
