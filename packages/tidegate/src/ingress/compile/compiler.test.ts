import { describe, expect, test } from 'vitest';
import { clientSettingsOf } from '../clients/index.ts';
import { applyDelta, EMPTY_TABLE, match, type RouteTable } from '../match/index.ts';
import { CLASS, ingress, service, slice } from '../testing/objects.ts';
import { Compiler } from './index.ts';

const newCompiler = (hosts?: string[]): Compiler =>
  new Compiler({ classNames: [CLASS], now: () => 0, ...(hosts && { hosts }) });

const KEY = 'shop/web';
const rules = { 'a.example.com/': 'web:80' };
const UPSTREAM = 'shop_web_80';

const request = (host: string, path = '/') => ({ host, path, headers: {}, secure: false });

function serve(compiler: Compiler, table: RouteTable = EMPTY_TABLE): RouteTable {
  const { delta } = compiler.flush();
  return delta === undefined ? table : applyDelta(table, delta);
}

describe('objects in any order', () => {
  const objects = (compiler: Compiler) => [
    () => compiler.put('Ingress', ingress({ rules })),
    () => compiler.put('Service', service('web')),
    () => compiler.put('EndpointSlice', slice('web', { '10.0.0.1': {} })),
  ];
  test.each([[[0, 1, 2]], [[0, 2, 1]], [[1, 0, 2]], [[1, 2, 0]], [[2, 0, 1]], [[2, 1, 0]]])(
    'give the upstream its endpoints in the order %j',
    (order) => {
      const compiler = newCompiler();
      let table = EMPTY_TABLE;
      for (const at of order) {
        objects(compiler)[at]?.();
        table = serve(compiler, table);
      }
      expect(table.upstreams.get(UPSTREAM)).toMatchObject({
        endpoints: [{ address: '10.0.0.1', port: 8080 }],
      });
      expect(match(table, request('a.example.com'))).toMatchObject({ kind: 'route' });
    },
  );
});

test('an upstream is removed with the last rule that uses it', () => {
  const compiler = newCompiler();
  compiler.put('Ingress', ingress({ rules }));
  compiler.put('Ingress', ingress({ name: 'other', rules: { 'b.example.com/': 'web:80' } }));
  let table = serve(compiler);
  compiler.remove('Ingress', KEY);
  table = serve(compiler, table);
  expect(table.upstreams.has(UPSTREAM)).toBe(true);
  compiler.remove('Ingress', 'shop/other');
  const { delta } = compiler.flush();
  expect(delta).toMatchObject({ hosts: { remove: ['b.example.com'] }, upstreams: { remove: [UPSTREAM] } });
});

describe('settings of the class', () => {
  test('about clients are an entry of the table, which is not a host', () => {
    const compiler = newCompiler([]);
    compiler.setClients({ ports: { http: 80, https: 443 } });
    let table = serve(compiler);
    expect(clientSettingsOf(table)).toEqual({ ports: { http: 80, https: 443 } });
    expect(match(table, request('#clients'))).toEqual({ kind: 'badRequest', wrong: 'host' });
    compiler.setClients({ ports: { http: 80, https: 443 } });
    expect(compiler.flush().delta).toBeUndefined();
    expect(compiler.snapshot().hosts.set).toHaveLength(1);
    compiler.setClients(undefined);
    table = serve(compiler, table);
    expect(clientSettingsOf(table)).toBeUndefined();
  });

  test('apply to Ingresses without annotations of their own', () => {
    const compiler = newCompiler();
    const own = ingress({ name: 'own', rules: { 'own.example.com/': 'web:80' } });
    const name = 'nginx.ingress.kubernetes.io/proxy-body-size';
    own.metadata.annotations = { [name]: '1k' };
    const other = ingress({ name: 'tidegate', rules: { 'tidegate.example.com/': 'web:80' } });
    other.metadata.annotations = { 'tidegate.io/max-body-size': '2k' };
    const all = [ingress({ rules }), own, other];
    const put = (): void => {
      for (const each of all) compiler.put('Ingress', each);
    };
    const limits = (table: RouteTable): unknown[] =>
      ['a', 'own', 'tidegate'].map((host) => {
        const found = match(table, request(`${host}.example.com`));
        return found.kind === 'route' ? found.action.limits.maxBodyBytes : found;
      });
    put();
    let table = serve(compiler);
    expect(limits(table)).toEqual([undefined, 1024, 2048]);
    expect(compiler.setDefaults({ [name]: '8k' })).toBe(true);
    put();
    table = serve(compiler, table);
    expect(limits(table)).toEqual([8192, 1024, 2048]);
    expect(compiler.setDefaults({ [name]: '8k' })).toBe(false);
    compiler.setDefaults({});
    put();
    expect(limits(serve(compiler, table))).toEqual([undefined, 1024, 2048]);
  });
});

describe('flush', () => {
  test('returns the complete state first, even without objects', () => {
    expect(newCompiler().flush().delta).toMatchObject({ from: 0, to: 1, hosts: { set: [], remove: [] } });
  });

  test('returns no delta if the routes have not changed', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', ingress({ rules }));
    compiler.flush();
    compiler.put('Ingress', { ...ingress({ rules }), status: { loadBalancer: {} } });
    compiler.put('Service', service('unused'));
    const { delta, outcomes } = compiler.flush();
    expect(delta).toBeUndefined();
    expect(outcomes).toEqual({ set: [], remove: [] });
    expect(compiler.snapshot().to).toBe(1);
  });

  test('keeps an upstream that moves from one host to another', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', ingress({ rules }));
    compiler.flush();
    compiler.put('Ingress', ingress({ rules: { 'b.example.com/': 'web:80' } }));
    expect(compiler.flush().delta).toMatchObject({
      hosts: { remove: ['a.example.com'] },
      upstreams: { set: [], remove: [] },
    });
  });
});

test('an Ingress with an unsupported protocol has routes that respond with 503, and affects no other Ingress', () => {
  const compiler = newCompiler();
  const annotations = { 'nginx.ingress.kubernetes.io/backend-protocol': 'FCGI' };
  compiler.put('Service', service('web'));
  compiler.put('Ingress', ingress({ rules, annotations, defaultBackend: 'web:80' }));
  compiler.put('Ingress', ingress({ name: 'other', rules: { 'a.example.com/other': 'web:80' } }));
  const { delta, outcomes } = compiler.flush();
  const [host] = delta?.hosts.set ?? [];
  const upstreams = host?.routes.map(({ action }) => action.backends[0]?.upstream);
  expect(upstreams).toEqual(['shop_web_80', 'shop__']);
  expect(host?.fallback?.backends).toEqual([{ upstream: 'shop__', weight: 1 }]);
  expect(delta?.upstreams.set.find(({ id }) => id === 'shop__')).toMatchObject({
    endpoints: [],
    problem: 'notSupported',
  });
  expect(outcomes.set.find(({ ingress: key }) => key === KEY)?.problems).toMatchObject([
    { reason: 'InvalidAnnotation', about: 'routes' },
  ]);
});

describe('the class of an Ingress', () => {
  const byAnnotation = (field: string | undefined, annotation: string) => {
    const object = ingress({ rules, annotations: { 'kubernetes.io/ingress.class': annotation } });
    return { ...object, spec: { ...object.spec, ingressClassName: field } };
  };

  test.each([
    ['is set by field', ingress({ rules }), true],
    ['can be another class', ingress({ rules, className: 'silver' }), false],
    ['is set by annotation', byAnnotation(undefined, CLASS), true],
    ['is set by field before annotation, to another class', byAnnotation('silver', CLASS), false],
    ['is set by field before annotation, to this class', byAnnotation(CLASS, 'silver'), true],
    ['can be absent', byAnnotation(undefined, ''), false],
  ])('%s', (_, object, served) => {
    const compiler = newCompiler();
    compiler.put('Ingress', object);
    const { delta, outcomes } = compiler.flush();
    expect(delta?.hosts.set.length).toBe(served ? 1 : 0);
    expect(outcomes.set.length).toBe(served ? 1 : 0);
  });

  test('can change', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', ingress({ rules }));
    compiler.flush();
    compiler.put('Ingress', ingress({ rules, className: 'silver' }));
    expect(compiler.flush()).toMatchObject({
      delta: { hosts: { remove: ['a.example.com'] } },
      outcomes: { remove: [KEY] },
    });
  });

  test('is ignored if its IngressClass has another controller', () => {
    const compiler = newCompiler();
    const ofController = (controller: string) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: CLASS },
      spec: { controller },
    });
    compiler.put('Ingress', ingress({ rules }));
    compiler.put('IngressClass', ofController('tidegate.io/nginx'));
    expect(compiler.flush().outcomes.set).toHaveLength(1);
    compiler.put('IngressClass', ofController('k8s.io/ingress-nginx'));
    expect(compiler.flush().outcomes.remove).toEqual([KEY]);
    compiler.put('Ingress', ingress({ rules: { 'b.example.com/': 'web:80' } }));
    expect(compiler.flush().delta).toBeUndefined();
    compiler.remove('IngressClass', CLASS);
    expect(compiler.flush().delta?.hosts.set).toMatchObject([{ host: 'b.example.com' }]);
  });
});

describe('setServedHosts', () => {
  test('leaves out hosts of other routers, but includes rules for all hosts', () => {
    const compiler = newCompiler(['a.example.com']);
    compiler.put('Ingress', ingress({ rules: { 'a.example.com/': 'web:80', 'b.example.com/': 'other:80' } }));
    compiler.put('Ingress', ingress({ name: 'all', defaultBackend: 'all:80' }));
    compiler.put('Ingress', ingress({ name: 'elsewhere', rules: { 'b.example.com/x': 'web:80' } }));
    const { delta, outcomes } = compiler.flush();
    expect(delta?.hosts.set.map(({ host }) => host).sort()).toEqual(['', 'a.example.com']);
    expect(delta?.upstreams.set.map(({ id }) => id).sort()).toEqual(['shop_all_80', UPSTREAM]);
    expect(outcomes.set.map(({ ingress: key, hosts }) => ({ key, hosts }))).toEqual([
      { key: KEY, hosts: ['a.example.com'] },
      { key: 'shop/all', hosts: [''] },
    ]);
  });

  test('can change at any time', () => {
    const compiler = newCompiler(['a.example.com']);
    compiler.put('Ingress', ingress({ rules: { 'a.example.com/': 'web:80', 'b.example.com/': 'other:80' } }));
    compiler.flush();
    compiler.setServedHosts(['a.example.com', 'b.example.com']);
    expect(compiler.flush().delta).toMatchObject({
      hosts: { set: [{ host: 'b.example.com' }], remove: [] },
      upstreams: { set: [{ id: 'shop_other_80' }], remove: [] },
    });
    compiler.setServedHosts([]);
    expect(compiler.flush()).toMatchObject({
      delta: { hosts: { remove: ['a.example.com', 'b.example.com'] } },
      outcomes: { remove: [KEY] },
    });
    compiler.setServedHosts(undefined);
    expect(compiler.flush().outcomes.set).toMatchObject([{ hosts: ['a.example.com', 'b.example.com'] }]);
  });

  test('does not affect which namespace owns a host', () => {
    const compiler = newCompiler(['a.example.com']);
    compiler.put('Ingress', ingress({ namespace: 'bank', age: 9, tls: [{ hosts: ['a.example.com'] }] }));
    compiler.put('Ingress', ingress({ rules }));
    expect(compiler.flush()).toMatchObject({
      delta: { hosts: { set: [{ host: 'a.example.com', namespace: 'bank', routes: [] }] } },
      outcomes: { set: [{}, { ingress: KEY, hosts: [], problems: [{ reason: 'HostConflict' }] }] },
    });
  });
});
