import type { Secret } from '@tidegate/kube';
import { expect, it } from 'vitest';
import type { L7Router, NodePool } from '../api/index.ts';
import {
  attachedPolicy,
  CLASS,
  classWithHeaders,
  ingress,
  service,
  slice,
} from '../ingress/testing/objects.ts';
import { type TraceObjects, trace } from '../router/index.ts';
import { ingressText } from './describe-ingress.ts';
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
  routePolicies: [],
  clusterRoutePolicies: [],
  claims: undefined,
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

it('prints each step: class, router, rules, Service and endpoints', () => {
  expect(ask('/cart/1?x', { pool: 'hangzhou' })).toEqual([
    'http://shop.example/cart/1?x',
    '  1. Class gold, provisioner tidegate.io/nginx',
    '  2. Router gold-2 in pool hangzhou, nginx, at 192.0.2.1',
    '  3. Host shop.example, path /cart/1',
    '  4. Routes for shop.example: found',
    '  5. Exact /cart of Ingress shop/web (spec.rules[0].http.paths[0]): path does not match',
    '  6. Prefix /cart of Ingress shop/web (spec.rules[1].http.paths[0]): matches',
    '  7. Service shop/web (upstream shop_web_80, http, roundRobin)',
    '  8. Endpoint 10.0.0.1:8080 on node here',
    '  9. Endpoint 10.0.0.2:8080 on node there: not used (not in pool hangzhou)',
    ' 10. Endpoint 10.0.0.3:8080 on node here: not used (not ready)',
    ' 11. Ingress shop/silver has this host too, but has class silver',
    ' 12. Ingress other/lost has this host too, but has no class',
    '=> forwarded to the endpoint above, by Ingress shop/web (spec.rules[1].http.paths[0])',
    'Problems of Ingresses for this host:',
    expect.stringMatching(/^ {2}shop\/web: ServiceNotFound: .* Service shop\/gone not found\./),
    expect.stringMatching(/^ {2}shop\/late: PathConflict: /),
  ]);
});

it.each([
  ['without endpoints', '/cart', {}, /^=> 503: Ingress shop\/web .* matches, but has no usable endpoints$/],
  ['without a rule', '/', { host: 'x.example' }, /^=> 404: no rule matches$/],
  ['with an invalid path', '/a/%2e%2e/b', {}, /^=> 400: invalid path$/],
  ['over TLS', '/', { secure: true }, /^ {2}3\. Certificate: default certificate of the router$/],
  ['of an unknown class', '/', { className: 'silver' }, /^ {2}1\. Class silver: IngressClass not found/],
])('prints the result of a request %s', (_, path, options, line) => {
  expect(ask(path, options)).toContainEqual(expect.stringMatching(line));
});

const users = (auth: string): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'shop', name: 'users' },
  data: { auth: Buffer.from(auth).toString('base64') },
});

it.each([
  [
    'does not exist',
    [],
    '503: Secret shop/users with its users does not exist, is invalid or cannot be read, by',
  ],
  ['is invalid', [users('no user')], '503: Secret shop/users with its users does not exist,'],
  ['has users', [users('anna:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=')], 'forwarded to'],
])('ends with what a route does if its Secret with users %s', (_, secrets, result) => {
  const [first] = objects.ingresses;
  const annotations = {
    'nginx.ingress.kubernetes.io/auth-type': 'basic',
    'nginx.ingress.kubernetes.io/auth-secret': 'users',
  };
  const guarded = { ...first!, metadata: { ...first!.metadata, annotations } };
  const request = { host: 'shop.example', path: '/cart/1', headers: {}, secure: false };
  const traced = trace({ ...objects, ingresses: [guarded], secrets }, { ...request, className: CLASS }, 0);
  expect(traceText(traced, request, undefined)).toContain(`=> ${result}`);
});

it('explains why endpoints are not used', () => {
  const [web] = objects.slices;
  const local = service('web');
  local.metadata.annotations = { 'openyurt.io/topologyKeys': 'kubernetes.io/hostname' };
  const scoped: TraceObjects = {
    ...objects,
    services: [local],
    slices: [{ ...web!, endpoints: [web!.endpoints![0]!, { ...one!, addresses: ['10.0.0.4'] }] }],
  };
  const request = { host: 'shop.example', path: '/cart/1', headers: {}, secure: false };
  const traced = trace(scoped, { ...request, className: CLASS, pool: 'hangzhou' }, 0);
  expect(traceText(traced, request, 'hangzhou').split('\n')).toEqual(
    expect.arrayContaining([
      '  8. Endpoint 10.0.0.1:8080 on node here: not used (only clients on the same node use it, because of openyurt.io/topologyKeys on the Service)',
      '  9. Endpoint 10.0.0.4:8080: not used (no nodeName, so its pool is unknown)',
    ]),
  );
});

it('uses the endpoints of the pool that the router runs in', () => {
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
  expect(lines).toContain('  3. The router runs in pool beijing, so it uses only endpoints in this pool');
  expect(lines).toContain('  9. Endpoint 10.0.0.2:8080 on node there');
});

it('reports what the load balancer does differently', () => {
  const failedHosts = [{ host: 'shop.example', reason: 'NotSupported', message: 'All requests get 503.' }];
  const { pool: _, ...spec } = router.spec;
  const cloud = {
    ...router,
    spec: { ...spec, driver: 'octavia', parameters: { members: 'nodePorts' } },
    status: { ...router.status, failedHosts },
  };
  const request = { host: 'shop.example', path: '/cart/1', headers: {}, secure: false };
  const traced = trace({ ...objects, routers: [cloud] }, { ...request, className: CLASS }, 0);
  const text = traceText(traced, request, undefined);
  expect(text).toContain('The load balancer connects to the node port of the Service on all ready nodes');
  expect(text).toContain('=> as the Ingresses say: forwarded to ');
  expect(text).toContain(
    '=> router gold-2 reports NotSupported for host shop.example: All requests get 503.',
  );
});

it('rejects an unknown pool', () => {
  expect(() => ask('/', { pool: 'nowhere' })).toThrow(
    /^there is no NodePool or NodeGroup nowhere\. To list them, run: /,
  );
});

it.each([
  [
    '/old/x',
    {},
    'Policy: redirects to https://new.example$request_uri with status 301',
    '301: redirect to https://new.example/old/x, by a policy of Ingress shop/policies',
  ],
  [
    '/in',
    { client: '10.0.0.1' },
    'Policy: serves only clients in 10.0.0.0/8',
    'forwarded to one of the 2 endpoints above',
  ],
  [
    '/in',
    { client: '192.0.2.1' },
    'Policy: serves only clients in 10.0.0.0/8',
    '403: the client is not allowed, by a policy of Ingress shop/lists',
  ],
  ['/in', {}, 'Policy: serves only clients in 10.0.0.0/8', 'forwarded to one of the 2 endpoints above'],
])('shows the policies for %s with %j', (path, client, policy, result) => {
  const annotated = (name: string, value: string) => ({ [`nginx.ingress.kubernetes.io/${name}`]: value });
  const ingresses = [
    ingress({
      name: 'policies',
      rules: { 'p.example/old': 'web:80' },
      annotations: annotated('permanent-redirect', 'https://new.example$request_uri'),
    }),
    ingress({
      name: 'lists',
      rules: { 'p.example/in': 'web:80' },
      annotations: annotated('whitelist-source-range', '10.0.0.0/8'),
    }),
  ];
  const request = { host: 'p.example', path, headers: {}, secure: false };
  const traced = trace({ ...objects, ingresses }, { ...request, ...client, className: CLASS }, 0);
  const lines = traceText(traced, request, undefined).split('\n');
  expect(lines).toContainEqual(expect.stringContaining(policy));
  expect(lines).toContainEqual(expect.stringContaining(`=> ${result}`));
});

it('shows the rewritten path', () => {
  const annotations = { 'nginx.ingress.kubernetes.io/rewrite-target': '/$1' };
  const ingresses = [ingress({ rules: { 'w.example/api/(.*)': 'web:80' }, annotations })];
  const request = { host: 'w.example', path: '/api/x?y', headers: {}, secure: false };
  const traced = trace({ ...objects, ingresses }, { ...request, className: CLASS }, 0);
  expect(traceText(traced, request, undefined)).toContain('one of the 2 endpoints above as /x?y, by Ingress');
});

it('shows which policies come from where', () => {
  const policy = attachedPolicy(
    { name: 'sso' },
    { targetRefs: [{ kind: 'IngressClass', name: CLASS }], access: { allow: ['10.0.0.0/8'] }, cors: {} },
  );
  const own = attachedPolicy(
    { namespace: 'shop', name: 'web' },
    { targetRefs: [{ kind: 'Ingress', name: 'web' }], cors: { allowOrigins: ['https://a.io'] } },
  );
  const request = { host: 'shop.example', path: '/', headers: {}, secure: false };
  const traced = trace(
    { ...objects, clusterRoutePolicies: [policy], routePolicies: [own] },
    { ...request, className: CLASS },
    0,
  );
  const lines = traceText(traced, request, undefined).split('\n');
  expect(lines.filter((line) => line.includes('Polic')).map((line) => line.replace(/^ *\d+\. /, ''))).toEqual(
    [
      'Policy: lets browsers use it from https://a.io',
      'Policy: serves only clients in 10.0.0.0/8',
      'Policies from ClusterRoutePolicy sso (IngressClass gold): access',
      'Policies from RoutePolicy shop/web (Ingress shop/web): cors',
    ],
  );
});

it('describes an Ingress with the policies that it inherits', () => {
  const policy = attachedPolicy(
    { name: 'sso' },
    { targetRefs: [{ kind: 'IngressClass', name: CLASS }], access: { allow: ['10.0.0.0/8'] }, firewall: {} },
  );
  const annotations = { 'nginx.ingress.kubernetes.io/custom-headers': 'headers' };
  const withHeaders = ingress({ rules: { 'shop.example/': 'web:80' }, annotations });
  expect(ingressText(withHeaders, [], [], 0, classWithHeaders('X-A'))).toContain(
    'adds the headers of ConfigMap shop/headers to responses',
  );
  expect(ingressText(withHeaders, [], [], 0)).toContain('InvalidAnnotation');
  const text = ingressText(ingress({ rules: { 'shop.example/': 'web:80' } }), [policy], [], 0);
  expect(text).toContain('Inherited:\n  access: from ClusterRoutePolicy sso (IngressClass gold)\n');
  expect(text).toMatch(/Problems:\n {2}InvalidPolicy: ClusterRoutePolicy sso spec\.firewall: .* 503\./);
});
