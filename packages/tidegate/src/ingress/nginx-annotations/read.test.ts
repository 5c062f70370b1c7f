import { describe, expect, it } from 'vitest';
import { DOCUMENTED, HONORED, IGNORED, REFUSED, readNginxAnnotations } from './index.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/';
const read = (annotations: Record<string, string>, prefix = PREFIX) =>
  readNginxAnnotations(
    Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value])),
  );

describe('the tables of annotations', () => {
  it('have each annotation once', () => {
    const names = [HONORED, REFUSED, IGNORED].flatMap((table) => [...table.keys()]);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    // 136 annotations of the last version of ingress-nginx, 8 of earlier ones, and one that was only proposed.
    expect(names.length).toBe(145);
    for (const name of DOCUMENTED) expect(names).toContain(name);
  });

  it('honor this many of the documented annotations', () => {
    expect(DOCUMENTED.size).toBe(117);
    const honored = [...DOCUMENTED].filter((name) => HONORED.has(name));
    expect(honored.length).toBe(105);
  });

  it('explain themselves in sentences', () => {
    for (const { does } of HONORED.values()) expect(does).toMatch(/^[A-Z].*\.$/);
    for (const { asks, instead } of REFUSED.values()) {
      expect(asks).toMatch(/[a-z]$/);
      expect(instead).toMatch(/^[A-Z].*\.$/);
    }
    for (const { effect, instead } of IGNORED.values())
      for (const text of [effect, instead]) expect(text).toMatch(/^[A-Z].*\.$/);
  });
});

describe('annotations of ingress-nginx', () => {
  it.each([
    ...['auth-snippet', 'auth-tls-new', 'blacklist-source-range'],
    ...['global-rate-limit', 'enable-modsecurity'],
    ...['configuration-snippet', 'server-snippet', 'auth-new', 'limit-new', 'any-source-range'],
  ])('%s is refused with what it asks for and what to do', (name) => {
    const { refused, ignored } = read({ [name]: 'x' });
    expect(ignored).toEqual([]);
    expect(refused).toEqual([
      {
        annotation: PREFIX + name,
        message: expect.stringMatching(
          /^nginx\.ingress\.kubernetes\.io\/\S+ asks for .+\. Tidegate does not support it, .+ 503\. .+ Then remove the annotation\.$/,
        ),
      },
    ]);
  });

  it.each([
    ['enable-modsecurity', 'false'],
    ['enable-global-auth', 'false'],
    ['proxy-ssl-verify', 'off'],
    ['global-rate-limit', '0'],
  ])('%s: %j asks for nothing', (name, value) => {
    expect(read({ [name]: value })).toMatchObject({ refused: [], ignored: [] });
  });

  const UNKNOWN = [
    ...['auth-new', 'limit-new', 'rate-limit', 'any-source-range', 'location-snippets', 'modsecurity-new'],
    ...['basic-auth-secret', 'jwt-key', 'whitelist', 'ip-deny-list', 'Auth-Url'],
    ...['waf', 'wafv2-acl-arn', 'inbound-cidrs', 'oauth', 'enable-oidc'],
  ];

  it.each([
    'nginx.ingress.kubernetes.io/',
    'ingress.kubernetes.io/',
    'nginx.org/',
    'example.com/',
    'tidegate.io/',
  ])('are refused with the prefix %s if they protect something', (prefix) => {
    for (const name of [...REFUSED.keys(), ...UNKNOWN])
      expect({ name, refused: read({ [name]: 'x' }, prefix).refused.length }).toEqual({ name, refused: 1 });
  });

  it('are ignored without a word with another prefix if they protect nothing', () => {
    const harmless = {
      'rewrite-target': '/',
      author: 'me',
      'proxy-body-size': '1m',
      'cluster-issuer': 'x',
      oauthor: 'x',
    };
    expect(read(harmless, 'example.com/')).toMatchObject({ refused: [], ignored: [] });
    expect(read({ 'auth-snippet': 'x' }, '').refused).toEqual([]);
  });

  it('are policies with the prefix of ingress-nginx only', () => {
    const both = { 'rewrite-target': '/$2', 'whitelist-source-range': '::1' };
    expect(read(both)).toMatchObject({ refused: [], ignored: [], policies: new Map(Object.entries(both)) });
    const other = read(both, 'example.com/');
    expect(other).toMatchObject({ policies: new Map(), ignored: [] });
    expect(other.refused).toEqual([
      {
        annotation: 'example.com/whitelist-source-range',
        message: expect.stringContaining(`503. Write ${PREFIX}whitelist-source-range instead.`),
      },
    ]);
  });

  it('are ignored with a reason and what to do otherwise', () => {
    expect(read({ 'fastcgi-index': 'x', 'no-such': '1' }).ignored).toEqual([
      {
        annotation: `${PREFIX}fastcgi-index`,
        message: expect.stringMatching(
          /^Tidegate ignores \S+fastcgi-index\. FastCGI is not supported\. Run an HTTP server .+\.$/,
        ),
      },
      {
        annotation: `${PREFIX}no-such`,
        message: `Tidegate ignores ${PREFIX}no-such. It is not an annotation of ingress-nginx. Check the name.`,
      },
    ]);
  });

  it('are reported up to a number', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`x-${i}`, '']));
    const { ignored } = read(many);
    expect(ignored).toHaveLength(20);
    expect(ignored.at(-1)?.message).toMatch(/So are 980 more annotations\.$/);
  });

  it('do not look up names in prototypes', () => {
    expect(read({ constructor: 'x', toString: 'y' }).refused).toEqual([]);
  });
});
