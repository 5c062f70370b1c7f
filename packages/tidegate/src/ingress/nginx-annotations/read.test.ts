import { describe, expect, it } from 'vitest';
import { HONORED, IGNORED, REFUSED, readNginxAnnotations } from './index.ts';

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
  });

  it('explain themselves in sentences', () => {
    for (const { asks, instead } of REFUSED.values()) {
      expect(asks).toMatch(/[a-z]$/);
      expect(instead).toMatch(/^[A-Z].*\.$/);
    }
    for (const { effect, instead = 'None.' } of IGNORED.values())
      for (const text of [effect, instead]) expect(text).toMatch(/^[A-Z].*\.$/);
  });
});

describe('annotations of ingress-nginx', () => {
  it.each([
    ...['auth-type', 'auth-url', 'auth-tls-secret', 'allowlist-source-range', 'whitelist-source-range'],
    ...['denylist-source-range', 'satisfy', 'limit-rps', 'limit-connections', 'enable-modsecurity'],
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
    ['auth-tls-verify-client', 'off'],
    ['proxy-ssl-verify', 'off'],
    ['limit-rps', '0'],
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
    expect(read({ 'auth-url': 'x' }, '').refused).toEqual([]);
  });

  it.each([
    ['use-regex', 'true', true],
    ['use-regex', 'false', false],
    ['rewrite-target', '/$2', true],
    ['rewrite-target', '', false],
    ['app-root', '/', false],
  ])('%s: %j makes paths regular expressions: %s', (name, value, expected) => {
    for (const prefix of [PREFIX, 'example.com/'])
      expect(read({ [name]: value }, prefix).hasRegexPaths).toBe(expected);
  });

  it('are ignored with a reason and what to do otherwise', () => {
    expect(read({ 'server-alias': 'b.io', 'no-such': '1' }).ignored).toEqual([
      {
        annotation: `${PREFIX}no-such`,
        message: `Tidegate ignores ${PREFIX}no-such. It is not an annotation of ingress-nginx.`,
      },
      {
        annotation: `${PREFIX}server-alias`,
        message: `Tidegate ignores ${PREFIX}server-alias. The other names are not served. Write a rule for each of them in the Ingress.`,
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
