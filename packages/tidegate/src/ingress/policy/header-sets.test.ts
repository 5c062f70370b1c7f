import { describe, expect, it } from 'vitest';
import { type HeaderSource, headerSource, readAllowedHeaders, readHeaders } from './header-sets.ts';
import { readPolicies } from './read.ts';

const RESPONSE = { configMap: 'shop/h', kind: 'responseHeaders', allowed: ['x-a', 'x-b'] } as const;
const AUTH = { configMap: 'shop/h', kind: 'authHeaders' } as const;
const read = (annotations: Record<string, string>, allowedHeaders?: readonly string[]) =>
  readPolicies(new Map(Object.entries(annotations)), {
    namespace: 'shop',
    name: 'web',
    ...(allowedHeaders && { allowedHeaders }),
  });

describe('the headers that a class allows', () => {
  it('are names without regard to case, in one order', () => {
    expect(readAllowedHeaders(' X-B, x-a,X-A ')).toEqual(['x-a', 'x-b']);
    expect(readAllowedHeaders(undefined)).toEqual([]);
    expect(readAllowedHeaders('')).toEqual([]);
  });

  it('are never those that belong to the connection or to the router', () => {
    const names =
      'Connection,Content-Length,Transfer-Encoding,Set-Cookie,Location,Server,Content-Type,a b,x:y';
    expect(readAllowedHeaders(names)).toEqual([]);
  });
});

describe('custom-headers', () => {
  it('names a ConfigMap of the namespace, and the ID has the allowed names', () => {
    for (const value of ['h', 'shop/h']) {
      const { route, invalid } = read({ 'custom-headers': value }, ['x-a', 'x-b']);
      expect(invalid).toEqual([]);
      expect(route?.customHeaders).toEqual({ credentials: 'shop/h#headers=x-a,x-b' });
    }
    expect(headerSource('shop/h#headers=x-a,x-b')).toEqual(RESPONSE);
  });

  it.each(['', 'other/h', 'H', 'a/b/c', 'h#auth-headers', 'h\n'.repeat(2)])('refuses %j', (value) => {
    expect(read({ 'custom-headers': value }, ['x-a']).invalid).toMatchObject([
      { name: 'custom-headers', effect: 'closesRoutes' },
    ]);
  });

  it('is refused with what to do if the class allows no header', () => {
    const { invalid, route } = read({ 'custom-headers': 'h' });
    expect(route).toBeUndefined();
    expect(invalid).toEqual([
      {
        name: 'custom-headers',
        effect: 'closesRoutes',
        message: expect.stringContaining('tidegate.io/allowed-response-headers'),
      },
    ]);
  });
});

describe('auth-proxy-set-headers', () => {
  it('names a ConfigMap of the namespace', () => {
    const { route } = read({ 'auth-url': 'http://auth.shop.svc/', 'auth-proxy-set-headers': 'shop/h' });
    expect(route?.externalAuth?.headers).toBe('shop/h#auth-headers');
    expect(headerSource('shop/h#auth-headers')).toEqual(AUTH);
  });

  it('closes the hosts if it is invalid, or without auth-url', () => {
    for (const annotations of [
      { 'auth-url': 'http://auth.shop.svc/', 'auth-proxy-set-headers': 'other/h' },
      { 'auth-proxy-set-headers': 'h' },
    ])
      expect(read(annotations as Record<string, string>).invalid).toMatchObject([{ effect: 'closesHosts' }]);
  });
});

describe('headers in a ConfigMap', () => {
  it('keep their names, in one order', () => {
    const data = { 'X-B': 'frame-ancestors \'self\'; a="b"', 'x-a': '1' };
    expect(Object.entries(readHeaders(data, RESPONSE))).toEqual(Object.entries(data));
    expect(readHeaders({}, RESPONSE)).toEqual({});
    expect(readHeaders({ 'X-Any': 'v' }, AUTH)).toEqual({ 'X-Any': 'v' });
  });

  const WRONG: [Record<string, string>, HeaderSource, string][] = [
    [{ 'X-C': '1' }, RESPONSE, 'not a header that the class allows'],
    [{ 'X-A': '1', 'x-a': '2' }, RESPONSE, 'twice'],
    [{ 'X-A': 'a\r\nX-B: b' }, RESPONSE, 'line breaks'],
    [{ 'X-A': '$host' }, RESPONSE, 'variables'],
    [{ 'X-A': ' a' }, RESPONSE, 'has a value'],
    [{ 'X-A': '' }, RESPONSE, 'empty'],
    [{ 'X-A': 'ü' }, RESPONSE, 'printable ASCII'],
    [{ 'X-A': 'x'.repeat(4_001) }, RESPONSE, '4000'],
    [{ 'X_A.b': '1' }, AUTH, 'not a valid name'],
    ...['Host', 'Content-Length', 'transfer-encoding', 'Connection', 'X-Forwarded-For', 'X-Real-IP'].map(
      (name): [Record<string, string>, HeaderSource, string] => [
        { [name]: '1' },
        AUTH,
        'only the router sets',
      ],
    ),
    ...['X-Original-URL', 'ssl-client-verify', 'X-Request-ID', 'CDN-Loop'].map(
      (name): [Record<string, string>, HeaderSource, string] => [
        { [name]: '1' },
        AUTH,
        'only the router sets',
      ],
    ),
    [Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`X-${i}`, '1'])), AUTH, '51 headers'],
  ];

  it.each(WRONG)('are refused together if one is not valid (%#)', (data, source, message) => {
    expect(() => readHeaders({ 'X-B': 'good', ...data }, source)).toThrow(message);
  });
});
