import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Asked, actionFor, actionText, matchesPattern } from '../testing/answer.ts';
import {
  anyRequest,
  anyRoutes,
  expected,
  host,
  OPTIONS,
  route,
  routesOf,
  upstream,
} from '../testing/routes.ts';
import { conditionsOf, keyOf, PUBLISHED_QUOTAS, type Routes, type WantedOptions, wantedOf } from './index.ts';

const UPSTREAMS = [upstream('a', 1), upstream('b', 2)];
const reasons = (routes: Routes, options = OPTIONS) =>
  Object.fromEntries([...wantedOf(routes, options).failed].map(([name, { reason }]) => [name, reason]));
const ask = (routes: Routes, asked: Asked, options: WantedOptions = OPTIONS): string => {
  const listener = wantedOf(routes, options).wanted.listeners.get(asked.secure ? 'https' : 'http');
  if (listener === undefined) return 'no listener';
  const rules = listener.rules.map(({ key, action }) => ({ conditions: conditionsOf(key), action }));
  return actionText(actionFor({ ...listener, rules }, asked));
};
const http = (name: string, path: string): Asked => ({ host: name, path, secure: false });
const lines = (routes: Routes, listener: 'http' | 'https' = 'http'): string[] =>
  (wantedOf(routes, OPTIONS).wanted.listeners.get(listener)?.rules ?? []).map(({ key, action }) => {
    const { hosts, paths } = conditionsOf(key);
    return `${hosts.join(' ') || 'any'} | ${paths.join(' ') || 'any'} -> ${actionText(action)}`;
  });

describe('an ALB with the wanted rules', () => {
  test('answers as the reference matcher, and 503 for hosts that were refused', () => {
    fc.assert(
      fc.property(anyRoutes, fc.array(anyRequest, { minLength: 10 }), (routes, requests) => {
        for (const request of requests) {
          const answer = ask(routes, request);
          if (answer === 'no listener') continue;
          const wanted = expected(routes, OPTIONS, request);
          // No rule can name these hosts: they are refused, and nothing answers for them.
          const isUnnamed = /localhost|io9$/.test(`${request.host}`) && wanted === '503';
          expect(isUnnamed && answer === '404' ? '503' : answer, JSON.stringify(request)).toBe(wanted);
        }
      }),
      { numRuns: 200 },
    );
  });

  test('stays within all quotas, and never answers for another host', () => {
    const quotas = { rules: 6, certificates: 1, groups: 2, targets: 2 };
    fc.assert(
      fc.property(anyRoutes, fc.array(anyRequest, { minLength: 10 }), (routes, requests) => {
        const options = { ...OPTIONS, quotas };
        const { wanted } = wantedOf(routes, options);
        const listeners = [...wanted.listeners.values()];
        expect(listeners.flatMap(({ rules }) => rules).length).toBeLessThanOrEqual(quotas.rules);
        expect(wanted.groups.size).toBeLessThanOrEqual(quotas.groups);
        expect([...wanted.groups.values()].flatMap(({ targets }) => targets).length).toBeLessThanOrEqual(
          quotas.targets,
        );
        for (const request of requests) {
          const answer = ask(routes, request, options);
          if (!['no listener', '404', '503'].includes(answer))
            expect(answer).toBe(expected(routes, options, request));
        }
      }),
      { numRuns: 150 },
    );
  });

  test('has at most three values in a condition, five in a rule, and keys that can be read again', () => {
    fc.assert(
      fc.property(anyRoutes, (routes) => {
        for (const { rules } of wantedOf(routes, OPTIONS).wanted.listeners.values())
          for (const { key } of rules) {
            const { hosts, paths } = conditionsOf(key);
            expect(Math.max(hosts.length, paths.length)).toBeLessThanOrEqual(3);
            expect(hosts.length + paths.length).toBeLessThanOrEqual(5);
            expect(keyOf(key.section, { hosts, paths })?.section).toBe(key.section);
            expect(conditionsOf(keyOf(key.section, { hosts, paths }) ?? key)).toEqual({ hosts, paths });
          }
      }),
      { numRuns: 200 },
    );
  });
});

describe('wantedOf', () => {
  test('writes a Prefix as two patterns, and keeps a wildcard to one label', () => {
    const routes = routesOf(
      [
        host('www.example.com', [route('/', 'a'), route('/api', 'b'), route('/one', 'b', 'Exact')]),
        host('*.example.com', [route('/', 'b')]),
        host('*.deep.example.com', [route('/x', 'a')]),
      ],
      UPSTREAMS,
    );
    expect(lines(routes)).toEqual([
      'www.example.com | /one -> b=1',
      'www.example.com | /api /api/* -> b=1',
      'www.example.com | any -> a=1',
      '*.*.deep.example.com | any -> 404',
      '*.deep.example.com | /x /x/* -> a=1',
      '*.deep.example.com | any -> 404',
      '*.*.example.com | any -> 404',
      '*.example.com | any -> b=1',
    ]);
    expect(ask(routes, http('www.example.com', '/apis'))).toBe('a=1');
    expect(ask(routes, http('a.b.example.com', '/'))).toBe('404');
  });

  test('redirects hosts and wildcards to HTTPS', () => {
    const routes = routesOf([host('*.x.io', [route('/', 'a')], { redirectToHttps: true })], UPSTREAMS);
    expect(lines(routes)).toEqual(['*.*.x.io | any -> 404', '*.x.io | any -> redirect']);
    expect(lines(routes, 'https')).toEqual(['*.*.x.io | any -> 404', '*.x.io | any -> a=1']);
  });

  test('refuses what an ALB cannot express, with a sentence, and answers 503 for the host', () => {
    const routes = routesOf(
      [
        host('star.io', [route('/a*', 'a'), route('/', 'b')]),
        host('percent.io', [route('/%2F', 'a')]),
        host('long.io', [route(`/${'x'.repeat(126)}`, 'a')]),
        host('fits.io', [route(`/${'x'.repeat(125)}`, 'a')]),
        host('headers.io', [{ ...route('/', 'a'), headers: [{ name: 'x', value: 'y' }] }]),
        host('grpc.io', [route('/', 'g')]),
        host('both.io', [route('/', 'two')]),
        host('localhost', [route('/', 'a')]),
        host('x.xn--p1ai', [route('/', 'a')]),
      ],
      [
        ...UPSTREAMS,
        { ...upstream('g', 1), protocol: 'grpc' },
        {
          ...upstream('two', 1),
          endpoints: ['10.0.0.1', 'fd00::1'].map((address) => ({ address, port: 1 })),
        },
      ],
    );
    expect(reasons(routes)).toEqual({
      'star.io': 'PathNotSupported',
      'percent.io': 'PathNotSupported',
      'long.io': 'PathNotSupported',
      'headers.io': 'HeadersNotSupported',
      'grpc.io': 'BackendNotSupported',
      'both.io': 'BackendNotSupported',
      localhost: 'HostNotSupported',
      'x.xn--p1ai': 'HostNotSupported',
    });
    expect(ask(routes, http('star.io', '/ab'))).toBe('503');
    expect(wantedOf(routes, OPTIONS).failed.get('star.io')?.message).toMatch(
      /^Ingress shop\/web, path \/a\*:/,
    );
  });

  test('serves no rules without a host if they would answer for a host that no rule can name', () => {
    const routes = routesOf(
      [host('', [route('/', 'a')]), host('localhost', [], { namespace: 'rival' })],
      UPSTREAMS,
    );
    expect(reasons(routes)).toEqual({ '': 'HostNotSupported', localhost: 'HostNotSupported' });
    expect(lines(routes)).toEqual([]);
  });

  test('closes the hosts that do not fit, and says which quota is too small', () => {
    const names = Array.from({ length: 51 }, (_, at) => `h${at + 10}.io`);
    const hosts = names.map((name) => host(name, [route('/', 'a'), route('/b', 'b')]));
    const { wanted, failed } = wantedOf(routesOf(hosts, UPSTREAMS), { ...OPTIONS, quotas: PUBLISHED_QUOTAS });
    expect(wanted.listeners.get('http')?.rules).toHaveLength(100);
    expect([...failed.keys()]).toEqual(['h60.io', 'h59.io']);
    expect(failed.get('h60.io')?.message).toContain('AWS allows 100 rules for each load balancer');
  });
});

test.each([
  ['*.x.io', 'a.b.x.io', true],
  ['*.x.io', 'x.io', false],
  ['/a/*', '/a/', true],
  ['/a/*', '/a', false],
  ['/?', '/', false],
])('the pattern %s matches %s: %s', (pattern, text, isMatch) => {
  expect(matchesPattern(pattern, text)).toBe(isMatch);
});
