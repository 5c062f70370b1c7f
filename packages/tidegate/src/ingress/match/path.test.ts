import { describe, expect, test } from 'vitest';
import type { Route } from '../model.ts';
import { comparePrecedence, matchesPath, requestPath, writtenPath } from './path.ts';

describe('requestPath', () => {
  test.each([
    ['/', '/'],
    ['/a?b=/../c', '/a'],
    ['/a//b', '/a//b'],
    ['/a%2Fb', '/a%2Fb'],
    ['/A;x=1', '/A;x=1'],
    ['/.well-known/x', '/.well-known/x'],
    ['/a/...', '/a/...'],
    ['/a/..b', '/a/..b'],
    ['/a.', '/a.'],
    ['/%252e%252e/', '/%252e%252e/'],
  ])('reads %s as %s', (target, path) => expect(requestPath(target)).toBe(path));

  test.each([
    '',
    '*',
    'a',
    'http://a/b',
    '/a/../b',
    '/a/./b',
    '/..',
    '/.',
    '/a/..?x',
    '/a/%2e%2E/b',
    '/a/.%2e',
    '/a/%2e',
    '/a%2f../b',
    '/a/..%2Fb',
    '/a\\..\\b',
    '/a%5c..%5Cb',
    '/a/..;x/b',
    '/a/..%3Bx/b',
    '/a b',
    '/a#b',
    '/a\0',
    '/a%00',
    '/a%',
    '/a%4',
    '/%zz',
    '/a\nb',
  ])('rejects %j', (target) => expect(requestPath(target)).toBeUndefined());
});

describe('writtenPath', () => {
  test.each([
    ['', 'Prefix', '/'],
    ['/', 'Prefix', '/'],
    ['/a/', 'Prefix', '/a'],
    ['/a//', 'Prefix', '/a'],
    ['//', 'Prefix', '/'],
    ['/a/', 'Exact', '/a/'],
    ['/a/(.*)', 'Prefix', '/a/(.*)'],
    ['/"; } location /x {', 'Prefix', undefined],
    ['/a?b', 'Prefix', undefined],
    ['/a#b', 'Exact', undefined],
    ['/a/../b', 'Prefix', undefined],
    ['/ä', 'Exact', undefined],
    ['a', 'Exact', undefined],
    ['/a\nb', 'Exact', undefined],
  ] as const)('reads %j of type %s as %s', (written, match, path) =>
    expect(writtenPath(written, match)).toBe(path),
  );
});

describe('matchesPath', () => {
  const prefix = (path: string) => ({ path, match: 'Prefix' }) as const;
  const exact = (path: string) => ({ path, match: 'Exact' }) as const;

  test.each([
    [prefix('/'), '/', true],
    [prefix('/'), '/a', true],
    [prefix('/'), '//', true],
    [prefix('/foo'), '/foo', true],
    [prefix('/foo'), '/foo/', true],
    [prefix('/foo'), '/foo/bar', true],
    [prefix('/foo'), '/FOO', false],
    [prefix('/foo'), '/foobar', false],
    [prefix('/foo'), '/fo', false],
    [prefix('/foo'), '/foo%2Fbar', false],
    [prefix('/aaa/bbb'), '/aaa/bbb/ccc', true],
    [prefix('/aaa/bbb'), '/aaa//bbb', false],
    [exact('/foo'), '/foo', true],
    [exact('/foo'), '/foo/', false],
    [exact('/foo/'), '/foo', false],
    [exact('/'), '/a', false],
  ])('matches %j with %s: %s', (route, path, expected) => expect(matchesPath(route, path)).toBe(expected));
});

test('comparePrecedence puts longer paths first, then Exact, then more headers', () => {
  const action = {
    backends: [],
    limits: {},
    source: { kind: 'Ingress', namespace: 'a', name: 'b', rule: 0, path: 0 },
  } as const;
  const header = { name: 'x', value: 'y' };
  const order: Route[] = [
    { path: '/a/b', match: 'Prefix', headers: [], action },
    { path: '/a', match: 'Exact', headers: [], action },
    { path: '/a', match: 'Prefix', headers: [header], action },
    { path: '/a', match: 'Prefix', headers: [], action },
    { path: '/', match: 'Exact', headers: [], action },
    { path: '/', match: 'Prefix', headers: [], action },
  ];
  expect([...order].reverse().sort(comparePrecedence)).toEqual(order);
});
