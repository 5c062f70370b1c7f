/** RoutePolicies and ClusterRoutePolicies in the compiler. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AttachedPolicy, POLICY_SECTION_LIST } from '../../api/index.ts';
import type { RouteAction } from '../model.ts';
import { HONORED } from '../nginx-annotations/index.ts';
import { attachedPolicy, CLASS, type IngressFields, ingress, service, slice } from '../testing/objects.ts';
import { Compiler, type Work } from './compiler.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/';
const RULES = { 'a.io/': 'web:80' };

function newCompiler(policies: readonly AttachedPolicy[], ...ingresses: IngressFields[]): Compiler {
  const compiler = new Compiler({ classNames: [CLASS], now: Date.now });
  compiler.put('Service', service('web', ['http:80']));
  compiler.put('EndpointSlice', slice('web', { '10.0.0.1': {} }));
  for (const each of ingresses) compiler.put('Ingress', ingress({ rules: RULES, ...each }));
  for (const policy of policies) put(compiler, policy);
  compiler.flush();
  return compiler;
}

const put = (compiler: Compiler, policy: AttachedPolicy): void =>
  compiler.put(policy.kind as 'RoutePolicy' | 'ClusterRoutePolicy', policy);

const action = (compiler: Compiler, host = 'a.io'): RouteAction => {
  const found = compiler.snapshot().hosts.set.find((each) => each.host === host);
  return (found?.routes[0]?.action ?? found?.fallback)!;
};
const isClosed = (compiler: Compiler): boolean => action(compiler).backends[0]!.upstream.endsWith('__closed');
const problemsOf = (compiler: Compiler, key = 'shop/web') =>
  compiler.factsOf(key)?.problems.map(({ reason, field }) => `${reason}: ${field}`);

const ofClass = (spec: object, more = {}) =>
  attachedPolicy(
    { name: 'platform', ...more },
    { targetRefs: [{ kind: 'IngressClass', name: CLASS }], ...spec },
  );
const ofNamespace = (spec: object, more = {}) =>
  attachedPolicy(
    { namespace: 'shop', name: 'tenant', ...more },
    { targetRefs: [{ kind: 'Namespace' }], ...spec },
  );
const ofIngress = (spec: object, more = {}) =>
  attachedPolicy(
    { namespace: 'shop', name: 'own', ...more },
    { targetRefs: [{ kind: 'Ingress', name: 'web' }], ...spec },
  );

test('each field has an annotation that is honored', () => {
  const unknown = POLICY_SECTION_LIST.flatMap(([section, { fields, implies = {} }]) =>
    [...Object.keys(implies), ...Object.values(fields).map(({ annotation }) => annotation)]
      .filter((annotation) => !HONORED.has(annotation))
      .map((annotation) => `${section}: ${annotation}`),
  );
  expect(unknown).toEqual([]);
});

describe('settings', () => {
  test('are inherited, and the innermost level wins', () => {
    const levels = [
      ofClass({ timeouts: { connect: '1s', read: '10s', send: '5s' }, cors: {}, body: { maxSize: '1m' } }),
      ofNamespace({ timeouts: { read: '20s' } }),
      ofIngress({ timeouts: { send: '7s' } }),
    ];
    const annotations = { 'tidegate.io/max-body-size': '2m' };
    const compiler = newCompiler(levels, { annotations });
    expect(action(compiler)).toMatchObject({
      limits: {
        connectTimeoutMs: 1_000,
        readTimeoutMs: 20_000,
        sendTimeoutMs: 7_000,
        maxBodyBytes: 2 * 1024 ** 2,
      },
      policy: {
        cors: { headers: { 'Access-Control-Allow-Methods': 'GET, PUT, POST, DELETE, PATCH, OPTIONS' } },
      },
    });
    expect(compiler.factsOf('shop/web')?.origins).toEqual([
      { policy: 'ClusterRoutePolicy platform', target: 'IngressClass gold', sections: ['cors', 'timeouts'] },
      { policy: 'RoutePolicy shop/tenant', target: 'Namespace shop', sections: ['timeouts'] },
      { policy: 'RoutePolicy shop/own', target: 'Ingress shop/web', sections: ['timeouts'] },
    ]);
  });

  test('win over the defaults of the class, which apply where no level sets them', () => {
    const compiler = newCompiler([ofIngress({ timeouts: { read: '20s' } })], {});
    const defaults = {
      'proxy-read-timeout': '90',
      'proxy-send-timeout': '70',
      'whitelist-source-range': '10.0.0.0/8',
    };
    compiler.setDefaults(
      Object.fromEntries(Object.entries(defaults).map(([key, value]) => [PREFIX + key, value])),
    );
    compiler.put('Ingress', ingress({ rules: RULES }));
    compiler.flush();
    expect(action(compiler).limits).toMatchObject({ readTimeoutMs: 20_000, sendTimeoutMs: 70_000 });
    expect(action(compiler).policy?.sources).toBeDefined();
  });

  test('of a section are not mixed with those of another level', () => {
    const annotations = { [`${PREFIX}enable-cors`]: 'true' };
    const compiler = newCompiler([ofClass({ cors: { allowOrigins: ['https://a.io'] } })], { annotations });
    expect(action(compiler).policy?.cors?.origins).toBeUndefined();
  });

  test('hashing of an inner level replaces affinity of an outer one', () => {
    const compiler = newCompiler(
      [ofClass({ affinity: {} }), ofNamespace({ hashing: { key: '$remote_addr' } })],
      {},
    );
    expect(Object.keys(action(compiler).policy ?? {})).toEqual(['hashBy']);
  });

  test('of two policies of the same target, the oldest wins', () => {
    const policies = [
      ofNamespace({ timeouts: { read: '1s' } }, { name: 'young', age: 1 }),
      ofNamespace({ timeouts: { read: '2s' } }, { name: 'old', age: 9 }),
    ];
    for (const order of [policies, policies.toReversed()])
      expect(action(newCompiler(order, {})).limits.readTimeoutMs).toBe(2_000);
  });

  test('that cannot be read are reported with the policy and its field', () => {
    const compiler = newCompiler(
      [ofNamespace({ timeouts: { read: '30d' }, cors: { allowOrigins: ['x'] } })],
      {},
    );
    expect(problemsOf(compiler)).toEqual([
      'InvalidPolicy: RoutePolicy shop/tenant spec.timeouts.read',
      'InvalidPolicy: RoutePolicy shop/tenant spec.cors.allowOrigins',
    ]);
    expect(isClosed(compiler)).toBe(true);
  });

  test('of single Ingresses are not for namespaces', () => {
    const compiler = newCompiler([ofNamespace({ rewrite: { target: '/x' } })], {});
    expect(action(compiler).policy).toBeUndefined();
    expect(problemsOf(compiler)).toEqual(['InvalidPolicy: RoutePolicy shop/tenant spec.rewrite']);
  });
});

describe('guards', () => {
  const SSO = { basicAuth: { secretName: 'users' }, secretNamespace: 'platform' };

  test('of all levels apply, and a Secret of a ClusterRoutePolicy is in its own namespace', () => {
    const annotations = { [`${PREFIX}whitelist-source-range`]: '10.0.0.0/8' };
    const compiler = newCompiler([ofClass(SSO), ofNamespace({ access: { deny: ['10.9.0.0/16'] } })], {
      annotations,
    });
    expect(action(compiler).policy).toMatchObject({
      basic: { credentials: 'platform/users' },
      sources: { allow: [{ octets: [10, 0, 0, 0] }], deny: [{ octets: [10, 9, 0, 0] }] },
    });
    expect(compiler.factsOf('shop/web')?.credentials).toMatchObject([
      { secret: 'platform/users', field: 'ClusterRoutePolicy platform spec.basicAuth.secretName' },
    ]);
  });

  test('of annotations do not replace those of a ClusterRoutePolicy: the host is closed', () => {
    const annotations = { [`${PREFIX}auth-type`]: 'basic', [`${PREFIX}auth-secret`]: 'mine' };
    const compiler = newCompiler([ofClass(SSO)], { annotations });
    expect(isClosed(compiler)).toBe(true);
    expect(problemsOf(compiler)).toEqual(['PolicyConflict: metadata.annotations']);
    put(compiler, ofClass({ ...SSO, overridable: ['basicAuth'] }));
    compiler.flush();
    expect(action(compiler).policy?.basic?.credentials).toBe('shop/mine');
  });

  test('stay if an inner level removes them without permission', () => {
    const compiler = newCompiler([ofClass(SSO), ofNamespace({ without: ['basicAuth'] })], {});
    expect(action(compiler).policy?.basic?.credentials).toBe('platform/users');
    expect(problemsOf(compiler)).toEqual(['PolicyNotOverridable: RoutePolicy shop/tenant spec.without']);
  });

  test.each<[string, object]>([
    ['an invalid network', { access: { allow: ['10.0.0.0/99'] } }],
    ['an empty list', { access: { allow: [] } }],
    ['an empty section', { access: {} }],
    ['a list in a text', { access: { allow: ['10.0.0.0/8,0.0.0.0/0'] } }],
    ['a value of another type', { limits: { requestsPerSecond: 'many' } }],
    ['a field that is not known', { access: { only: ['10.0.0.1'] } }],
    ['a section that is not known', { firewall: { on: true } }],
    ['a section that is not an object', { basicAuth: true }],
    ['users without a Secret', { basicAuth: { realm: 'x' } }],
    ['a URL that is not valid', { externalAuth: { url: 'ftp://x' } }],
  ])('with %s close the hosts', (_, spec) => {
    for (const policy of [ofClass(spec), ofNamespace(spec), ofIngress(spec)]) {
      const compiler = newCompiler([policy], {});
      expect({ spec, closed: isClosed(compiler) }).toEqual({ spec, closed: true });
      expect(problemsOf(compiler)?.[0]).toContain(`InvalidPolicy: ${policy.kind} `);
    }
  });

  test('of a ClusterRoutePolicy that names a Secret but not its namespace close the hosts', () => {
    const compiler = newCompiler([ofClass({ basicAuth: { secretName: 'users' } })], {});
    expect(isClosed(compiler)).toBe(true);
    expect(problemsOf(compiler)).toEqual(['InvalidPolicy: ClusterRoutePolicy platform spec.secretNamespace']);
  });

  test('of two policies of the same target both apply', () => {
    const policies = ['10.0.0.0/8', '10.1.0.0/16'].map((list, at) =>
      ofNamespace({ access: { allow: [list] } }, { name: `p${at}` }),
    );
    expect(action(newCompiler(policies, {})).policy?.sources?.allow).toEqual([
      { octets: [10, 1, 0, 0], bits: 16 },
    ]);
  });

  test('of a class stay on an Ingress that leaves the class, as long as it is served there', () => {
    const compiler = new Compiler({ classNames: ['silver', CLASS], now: Date.now });
    put(compiler, ofClass({ access: { deny: ['10.0.0.1'] } }));
    compiler.setDeparting({ ingresses: new Set(['shop/web']), classes: new Map() });
    compiler.put('Ingress', ingress({ rules: RULES, className: 'elsewhere' }));
    compiler.flush();
    expect(action(compiler).policy?.sources?.deny).toHaveLength(1);
  });

  test('do not apply to other namespaces, classes and Ingresses', () => {
    const deny = { access: { deny: ['10.0.0.1'] } };
    const policies = [ofNamespace(deny, { namespace: 'other' }), ofIngress(deny, { namespace: 'other' })];
    policies.push(attachedPolicy({}, { targetRefs: [{ kind: 'IngressClass', name: 'silver' }], ...deny }));
    // A RoutePolicy cannot reach beyond its namespace, whatever it contains.
    policies.push(ofNamespace(deny, { namespace: 'evil' }));
    policies.at(-1)!.spec.targetRefs = [
      { kind: 'Namespace', name: 'shop' },
      { kind: 'IngressClass', name: CLASS },
      { kind: 'Ingress', name: 'shop/web' },
    ];
    expect(action(newCompiler(policies, {})).policy).toBeUndefined();
  });
});

test('the order in which objects arrive makes no difference', () => {
  const policies = [
    ofClass({ access: { allow: ['10.0.0.0/8'] }, timeouts: { read: '9s' } }),
    ofNamespace({ access: { deny: ['10.0.0.1'] }, cors: {} }, { age: 3 }),
    ofNamespace(
      { limits: { requestsPerSecond: 5 }, cors: { allowOrigins: ['https://b.io'] } },
      { name: 'b', age: 4 },
    ),
    ofIngress({ timeouts: { read: '8s' } }),
  ];
  const snapshot = ({ hosts }: ReturnType<Compiler['snapshot']>) => hosts;
  const expected = snapshot(newCompiler(policies, {}).snapshot());
  const step = fc.record({ at: fc.nat(policies.length - 1), removes: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const compiler = newCompiler([], {});
      for (const { at, removes } of steps) {
        const policy = policies[at]!;
        const { namespace, name } = policy.metadata;
        const key = namespace === undefined ? `${name}` : `${namespace}/${name}`;
        if (removes) compiler.remove(policy.kind as 'RoutePolicy', key);
        else put(compiler, policy);
        if (at % 2 === 0) compiler.flush();
      }
      for (const policy of policies) put(compiler, policy);
      compiler.flush();
      expect(snapshot(compiler.snapshot())).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});

test('a changed policy costs as much as the Ingresses that it applies to', () => {
  const compiler = new Compiler({ classNames: [CLASS], now: () => 0 });
  for (let at = 0; at < 2_000; at++) {
    const namespace = at < 3 ? 'shop' : `ns${at % 50}`;
    compiler.put('Ingress', ingress({ name: `i${at}`, namespace, rules: { [`h${at}.io/`]: 'web:80' } }));
  }
  compiler.flush();
  const costOf = (policy: AttachedPolicy): Partial<Work> => {
    const before = { ...compiler.work };
    put(compiler, policy);
    compiler.flush();
    const { hosts, outcomes } = compiler.work;
    return { hosts: hosts - before.hosts, outcomes: outcomes - before.outcomes };
  };
  const own = ofNamespace({ timeouts: { read: '3s' } });
  expect(costOf(own)).toEqual({ hosts: 3, outcomes: 3 });
  expect(costOf({ ...own, status: { observedGeneration: 1 } })).toEqual({ hosts: 0, outcomes: 0 });
  const single = { ...own, spec: { ...own.spec, targetRefs: [{ kind: 'Ingress' as const, name: 'i1' }] } };
  // Two Ingresses lose it, and the third has it from another target.
  expect(costOf(single)).toEqual({ hosts: 3, outcomes: 3 });
  expect(costOf(ofNamespace({ timeouts: { read: '3s' } }, { namespace: 'unused' }))).toEqual({
    hosts: 0,
    outcomes: 0,
  });
});
