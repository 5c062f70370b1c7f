import { expect, it } from 'vitest';
import type { L7Router, NodePool } from '../api/index.ts';
import { CLASS, ingress, service, slice } from '../ingress/testing/objects.ts';
import { type TraceObjects, trace } from '../router/index.ts';
import { traceText } from './trace-text.ts';

const pool = (name: string): NodePool =>
  ({
    apiVersion: 'apps.openyurt.io/v1beta2',
    kind: 'NodePool',
    metadata: { name },
    spec: { type: 'Edge' },
  }) as NodePool;
const node = (name: string, poolName: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'apps.openyurt.io/nodepool': poolName } },
});
const router: L7Router = {
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name: 'gold-2' },
  spec: { ingressClassName: CLASS, driver: 'nginx', pool: 'hangzhou', hosts: ['shop.example'] },
  status: {
    addresses: [{ ip: '192.0.2.1' }],
    conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: '' }],
  },
};
const [one] = slice('web', { '10.0.0.1': {} }).endpoints ?? [];

const objects: TraceObjects = {
  ingresses: [
    ingress({
      age: 2,
      rules: { '=shop.example/cart': 'gone:80', 'shop.example/cart': 'web:80', 'shop.example/': 'web:http' },
    }),
    ingress({ name: 'late', age: 1, rules: { 'shop.example/cart': 'web:80' } }),
    ingress({ name: 'silver', className: 'silver', rules: { 'shop.example/': 'web:80' } }),
    ingress({ name: 'lost', namespace: 'other', className: '', rules: { 'shop.example/': 'web:80' } }),
  ],
  classes: [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: CLASS },
      spec: { controller: 'tidegate.io/nginx' },
    },
  ],
  services: [service('web')],
  slices: [
    {
      ...slice('web', { '10.0.0.1': {} }),
      endpoints: [
        { ...one!, nodeName: 'here' },
        { ...one!, addresses: ['10.0.0.2'], nodeName: 'there' },
        { ...one!, addresses: ['10.0.0.3'], nodeName: 'here', conditions: { ready: false } },
      ],
    },
  ],
  secrets: [],
  routers: [router],
  nodes: [node('here', 'hangzhou'), node('there', 'beijing')],
  nodePools: [pool('hangzhou'), pool('beijing')],
  nodeGroups: [],
};

function ask(
  path: string,
  {
    host = 'shop.example',
    secure = false,
    className = CLASS,
    pool: place = undefined as string | undefined,
  } = {},
): string[] {
  const request = { host, path, headers: {}, secure };
  return traceText(trace(objects, { ...request, className, pool: place }, 0), request, place).split('\n');
}

it('tells step by step which rule, router, Service and endpoints serve a request, and why others do not', () => {
  expect(ask('/cart/1?x', { pool: 'hangzhou' })).toEqual([
    'http://shop.example/cart/1?x',
    '  1. Class gold, of tidegate.io/nginx',
    '  2. Router gold-2 in pool hangzhou, nginx, at 192.0.2.1',
    '  3. Host shop.example, path /cart/1',
    '  4. The table of shop.example: there is one',
    '  5. Exact /cart of Ingress shop/web (spec.rules[0].http.paths[0]): another path',
    '  6. Prefix /cart of Ingress shop/web (spec.rules[1].http.paths[0]): it matches',
    '  7. Service shop/web (upstream shop_web_80, http, roundRobin)',
    '  8. Endpoint 10.0.0.1:8080 on node here',
    '  9. Endpoint 10.0.0.2:8080 on node there: not used (OtherPool, by ingress-controller)',
    ' 10. Endpoint 10.0.0.3:8080 on node here: not used (not ready)',
    ' 11. Ingress shop/silver names the host too, but has the class silver',
    ' 12. Ingress other/lost names the host too, but has no class',
    '=> the endpoint above, by Ingress shop/web (spec.rules[1].http.paths[0])',
    'Problems of Ingresses that are about this host:',
    expect.stringMatching(/^ {2}shop\/web: ServiceNotFound: .* There is no Service shop\/gone\./),
    expect.stringMatching(/^ {2}shop\/late: PathConflict: /),
  ]);
});

it.each([
  ['without endpoints', '/cart', {}, /^=> 503: Ingress shop\/web .* matches, but there is no endpoint$/],
  ['without a rule', '/', { host: 'x.example' }, /^=> 404: no rule matches$/],
  ['that no data plane takes', '/a/%2e%2e/b', {}, /^=> 400: the path can not be served$/],
  ['over TLS', '/', { secure: true }, /^ {2}3\. Certificate: the router's own$/],
  ['of a class that is not there', '/', { className: 'silver' }, /^ {2}1\. Class silver: there is no such/],
])('tells what becomes of a request %s', (_, path, options, line) => {
  expect(ask(path, options)).toContainEqual(expect.stringMatching(line));
});

it('sees what a router sees where it stands', () => {
  const elsewhere = { 'apps.openyurt.io/nodepool': 'beijing' };
  const there = {
    ...node('there', 'beijing'),
    metadata: { name: 'there', labels: elsewhere },
    status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
  };
  const { pool: _, ...spec } = router.spec;
  const moved = { ...objects, routers: [{ ...router, spec }], nodes: [node('here', 'hangzhou'), there] };
  const request = { host: 'shop.example', path: '/cart/1', headers: {}, secure: false };
  const lines = traceText(trace(moved, { ...request, className: CLASS }, 0), request, undefined).split('\n');
  expect(lines).toContain('  3. It is on a node of pool beijing, and uses only endpoints there');
  expect(lines).toContain('  9. Endpoint 10.0.0.2:8080 on node there');
});

it('does not make up pools', () => {
  expect(() => ask('/', { pool: 'nowhere' })).toThrow('there is no NodePool or NodeGroup nowhere.');
});
