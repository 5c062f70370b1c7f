import { describe, expect, test } from 'vitest';
import { TestAuthority } from '../../../ingress/testing/certificates.ts';
import { action, host, OPTIONS, route, routesOf, upstream } from '../testing/routes.ts';
import { EMPTY, NOT_FOUND_BACKEND, plan, rulesOf, stepText, wantedOf } from './index.ts';

const reasons = (...args: Parameters<typeof wantedOf>) =>
  Object.fromEntries([...wantedOf(...args).failed].map(([name, { reason }]) => [name, reason]));

describe('wantedOf', () => {
  test('names pools as Kuryr does, and prints a plan for users', () => {
    const s1 = { ...upstream('mynamespace_s1_80', 8080), namespace: 'mynamespace', service: 's1' };
    const { wanted } = wantedOf(
      routesOf([host('www.example.com', [route('/', 'mynamespace_s1_80')])], [s1]),
      OPTIONS,
    );
    expect(plan(EMPTY, wanted).map(stepText)).toEqual([
      '+ pool *not-found (tidegate_not-found, ROUND_ROBIN)',
      '+ pool mynamespace_s1_80 (mynamespace_s1, ROUND_ROBIN)',
      '~ members mynamespace_s1_80: 10.0.0.1:8080',
      '+ listener http, port 80, not enabled',
      '+ policy http 1: www.example.com/ Prefix -> mynamespace_s1_80',
      '+ rule http: www.example.com/ Prefix: HOST_NAME REGEX ^www\\.example\\.com\\.?(:[0-9]{0,5})?$',
      '~ listener http: enabled',
    ]);
  });

  test('gives members the weights of their upstreams', () => {
    const weighted = {
      ...action('a'),
      backends: [
        { upstream: 'a', weight: 3 },
        { upstream: 'b', weight: 1 },
        { upstream: 'c', weight: 0 },
      ],
    };
    const entry = host('x.io', [{ ...route('/', 'a'), action: weighted }]);
    const { wanted } = wantedOf(
      routesOf([entry], [upstream('a', 1), upstream('b', 2), upstream('c', 3)]),
      OPTIONS,
    );
    const members = [...wanted.backends.values()].flatMap((each) =>
      each.members.map(({ port, weight }) => [port, weight]),
    );
    expect(members).toEqual([
      [1, 3],
      [2, 1],
    ]);
  });

  test('refuses what Octavia cannot do, and answers 503 for it', () => {
    const limited = (limits: object) => ({ ...route('/', 'a'), action: { ...action('a'), limits } });
    const hosts = [
      host('headers.io', [{ ...route('/', 'a'), headers: [{ name: 'x', value: 'y' }] }]),
      host('body.io', [limited({ maxBodyBytes: 1 })]),
      host('timeout.io', [limited({ readTimeoutMs: 1 })]),
      host('same.io', [limited({ readTimeoutMs: 60_000 })]),
      host('grpc.io', [route('/', 'g')]),
      host('name.io', [route('/', 'n')]),
      host('long.io', [route(`/${'x'.repeat(250)}`, 'a')]),
      host('*.secure.io', [route('/', 'a')], { redirectToHttps: true }),
    ];
    const upstreams = [
      upstream('a', 1),
      { ...upstream('g', 2), protocol: 'grpc' as const },
      { ...upstream('n'), endpoints: [{ address: 'db.example', port: 1 }] },
    ];
    const { wanted, failed } = wantedOf(routesOf(hosts, upstreams), OPTIONS);
    expect(Object.fromEntries([...failed].map(([name, { reason }]) => [name, reason]))).toEqual({
      'headers.io': 'HeadersNotSupported',
      'body.io': 'MaxBodySizeNotSupported',
      'timeout.io': 'TimeoutNotSupported',
      'grpc.io': 'BackendNotSupported',
      'name.io': 'BackendNotSupported',
      'long.io': 'RuleTooLong',
      '*.secure.io': 'RedirectNotSupported',
    });
    const closed = wanted.listeners
      .get('http')
      ?.policies.filter(({ target }) => 'backend' in target && target.backend === 'shop__closed');
    expect(closed?.map(({ key }) => key.host).sort()).toEqual([...failed.keys()].sort());
  });

  test('serves no HTTPS without a certificate store, and does not serve without TLS what requires it', () => {
    const hosts = [host('a.io', [route('/', 'a')], { redirectToHttps: true })];
    const options = { ...OPTIONS, hasStore: false };
    expect(reasons(routesOf(hosts, [upstream('a', 1)]), options)).toEqual({
      'a.io': 'CertificateStoreMissing',
    });
    const { wanted } = wantedOf(routesOf(hosts, [upstream('a', 1)]), options);
    expect([...wanted.listeners.keys()]).toEqual(['http']);
    expect(wanted.listeners.get('http')?.policies.map(({ target }) => target)).toEqual([
      { backend: 'shop__closed' },
    ]);
  });

  describe('with certificates, which Octavia chooses by the names in them', () => {
    const authority = new TestAuthority();
    const certificate = (name: string, names: string[], fingerprint: string, namespace = 'shop') => ({
      ...{ host: name, secret: `${namespace}/tls`, fingerprint: fingerprint.repeat(64) },
      ...authority.issue(names),
    });
    const withCertificates = (
      owners: Record<string, string>,
      ...certificates: ReturnType<typeof certificate>[]
    ) => ({
      ...routesOf(
        Object.entries(owners).map(([name, namespace]) => host(name, [route('/', 'a')], { namespace })),
        [upstream('a', 1)],
      ),
      certificates: new Map(certificates.map((each) => [each.host, each])),
    });
    const sniOf = (routes: Parameters<typeof wantedOf>[0]) =>
      wantedOf(routes, OPTIONS)
        .wanted.listeners.get('https')
        ?.certificates?.sni.map((name) => name.slice(-1));

    test('reports certificates of one tenant that Octavia could confuse', () => {
      const routes = withCertificates(
        { 'a.io': 'shop', 'b.io': 'shop' },
        certificate('a.io', ['a.io'], '1'),
        certificate('b.io', ['b.io', 'a.io'], '2'),
      );
      expect(reasons(routes, OPTIONS)).toEqual({ 'a.io': 'CertificateAmbiguous' });
      expect(sniOf(routes)).toEqual(['1', '2']);
    });

    test.each([
      ['the name of a host', ['b.io', 'a.x.io']],
      ['the wildcard above a host', ['b.io', '*.x.io']],
    ])('does not use a certificate with %s of another tenant', (_, names) => {
      const theirs = names.includes('*.x.io') ? ['*.x.io'] : ['a.x.io'];
      const routes = withCertificates(
        { 'a.x.io': 'shop', 'b.io': 'rival' },
        certificate('a.x.io', theirs, '1'),
        certificate('b.io', names, '2', 'rival'),
      );
      expect(reasons(routes, OPTIONS)).toEqual({ 'b.io': 'CertificateNotUsable' });
      expect(sniOf(routes)).toEqual(['1']);
    });

    test('uses one wildcard certificate that several tenants have', () => {
      const [first, second] = [
        certificate('a.x.io', ['*.x.io'], '1'),
        certificate('b.x.io', ['*.x.io'], '1', 'rival'),
      ];
      const routes = withCertificates({ 'a.x.io': 'shop', 'b.x.io': 'rival' }, first, second);
      expect(reasons(routes, OPTIONS)).toEqual({});
    });

    test('does not serve a host over HTTPS with the wildcard certificate of another tenant', () => {
      const none = { ...certificate('a.x.io', ['a.x.io'], '0', 'rival'), certificate: '', key: '' };
      const routes = withCertificates(
        { '*.x.io': 'shop', 'a.x.io': 'rival' },
        certificate('*.x.io', ['*.x.io'], '1'),
        none,
      );
      const { wanted, failed } = wantedOf(routes, OPTIONS);
      expect(failed.get('a.x.io')?.reason).toBe('CertificateOfOtherNamespace');
      const targets = (listener: 'http' | 'https') =>
        wanted.listeners
          .get(listener)
          ?.policies.filter(({ key }) => key.host === 'a.x.io')
          .map(({ target }) => target);
      expect(targets('https')).toEqual([{ backend: 'rival__closed' }]);
      expect(targets('http')).toContainEqual({ backend: 'a' });
    });
  });

  test('sends what no rule matches to servers of the class', () => {
    const notFound = [{ address: '10.0.0.9', port: 80, weight: 1 }];
    const { wanted } = wantedOf(routesOf([], []), { ...OPTIONS, notFound });
    expect(wanted.backends.get(NOT_FOUND_BACKEND)?.members).toEqual(notFound);
  });
});

describe('rulesOf', () => {
  test.each([
    ['a.io', '/', 'Prefix', ['^a\\.io\\.?(:[0-9]{0,5})?$']],
    ['', '/', 'Prefix', ['/']],
    ['', '/a', 'Exact', ['/a']],
    ['', '/a.b&"', 'Exact', ['^/a\\.b\\x26\\x22$']],
    ['', '/a', 'Prefix', ['^/a(/|$)']],
  ] as const)('%j %j %s has the values %j', (name, path, match, values) => {
    expect(rulesOf({ section: 'own', host: name, path, match })?.map(({ value }) => value)).toEqual(values);
  });
});
