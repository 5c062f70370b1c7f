import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestInfo } from './request-info.ts';
import { requestTarget } from './request-target.ts';

const SECRETS = '/api/v1/namespaces/shop/secrets';
const PROXY = '/api/v1/namespaces/shop/services/web:80/proxy';

describe('a request target', () => {
  it.each([
    ['/', '/'],
    ['/apis', '/apis'],
    ['/debug/pprof/', '/debug/pprof/'],
    [`${SECRETS}/a%2Db`, `${SECRETS}/a-b`],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node',
    ],
    [`${SECRETS}/a%3Bb`, `${SECRETS}/a%3Bb`],
    [`${SECRETS}?labelSelector=a%20in%20(b)&limit=5`, `${SECRETS}?labelSelector=a%20in%20(b)&limit=5`],
    [`${SECRETS}/%c3%a9`, `${SECRETS}/%C3%A9`],
  ])('%s is accepted as %s', (text, canonical) => {
    expect(requestTarget(text).text).toBe(canonical);
  });

  it.each([
    ['', /begins with a slash/],
    ['*', /begins with a slash/],
    ['http://127.0.0.1/apis', /begins with a slash/],
    ['evil.example.com:443', /begins with a slash/],
    ['//apis', /empty path segment/],
    [`${SECRETS}//x`, /empty path segment/],
    [`${SECRETS}/..`, /dot segment/],
    [`${SECRETS}/../configmaps`, /dot segment/],
    [`${SECRETS}/./x`, /dot segment/],
    [`${SECRETS}/%2e%2E`, /dot segment/],
    [`${SECRETS}/.%2e/x`, /dot segment/],
    [`${SECRETS}/a%2fb`, /encoded slash/],
    [`${SECRETS}/a%5Cb`, /encoded slash, backslash/],
    [`${SECRETS}/a%252fb`, /percent sign/],
    [`${SECRETS}/a%00`, /control character/],
    [`${SECRETS}/a\\b`, /must be percent-encoded/],
    [`${SECRETS}/a;b`, /must be percent-encoded/],
    ['/apis#/../api/v1/namespaces/x/configmaps/evil', /must be percent-encoded/],
    [`${SECRETS}/a%zz`, /invalid percent encoding/],
    [`${SECRETS}/\u00e9`, /must be percent-encoded/],
    [`${SECRETS}/a b`, /must be percent-encoded/],
    [`${SECRETS}/%ff`, /not valid UTF-8/],
    [`${SECRETS}?watch=1#x`, /the query contains characters/],
    [`${SECRETS}?a=%z1`, /the query contains characters/],
    [`${SECRETS}?a=\\`, /the query contains characters/],
    [`${SECRETS}?a=\u00e9`, /the query contains characters/],
    [`${SECRETS}?watch=0;watch=1`, /semicolon/],
    [`${SECRETS}?a=%ff`, /not valid UTF-8/],
    [`${SECRETS}?watch=0&watch=1`, /watch more than once/],
    [`${SECRETS}?watch=0&w%61tch=1`, /watch more than once/],
  ])('%j is refused with 400', (text, why) => {
    expect(() => requestTarget(text)).toThrow(why);
    expect(() => requestTarget(text)).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ code: 400 }) }),
    );
  });
});

describe('the path behind a proxy', () => {
  it.each([
    `${PROXY}`,
    `${PROXY}/`,
    `${PROXY}//a//b/`,
    `${PROXY}/a%2Fb;v=1/@x`,
    `${PROXY}/a%252f..b`,
    `${PROXY}/a?watch=1&watch=2;x&y=%ff`,
    '/api/v1/namespaces/shop/pods/https:web:8443/proxy/a%20b',
    '/api/v1/nodes/edge-1/proxy/metrics/cadvisor',
  ])('%s is forwarded byte for byte', (text) => {
    expect(requestTarget(text).text).toBe(text);
    expect(requestInfo('GET', requestTarget(text))).toMatchObject({ type: 'resource', subresource: 'proxy' });
  });

  it.each([
    `${PROXY}/../../../secrets`,
    `${PROXY}/%2e%2e/x`,
    `${PROXY}/a%2f..%2fb`,
    `${PROXY}/a%5c..%5cb`,
    `${PROXY}/..;/x`,
    `${PROXY}/.`,
    `${PROXY}/a\\..\\b`,
    `${PROXY}/a#b`,
    `${PROXY}/a%g0`,
    '/api/v1/namespaces/shop/services/web%2fx/proxy/a',
    '/api/v1/namespaces/../services/web/proxy/a',
    '/api/v1/nodes/edge-1//proxy/a',
    // Not proxies: nothing may follow that is not a plain path.
    '/api/v1/namespaces/shop/secrets/web/proxy//a',
    '/apis/apps/v1/nodes/edge-1/proxy//a',
    '/api/v1/nodes/edge-1/log//a',
    '/api/v1/nodes/edge-1/pro%78y/a%2fb',
  ])('%s is refused', (text) => {
    expect(() => requestTarget(text)).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ code: 400 }) }),
    );
  });
});

describe('for any text', () => {
  const hostile = fc.constantFrom(
    'api',
    'apis',
    'v1',
    'namespaces',
    'shop',
    'services',
    'pods',
    'nodes',
    'proxy',
    'secrets',
    '.',
    '..',
    '',
    '%2e',
    '%2E.',
    '%2f',
    '%5c',
    '\\',
    ';',
    '#',
    '?',
    '%',
    '%25',
    '%00',
    ':',
    '@',
    'é',
    ' ',
    '*',
    'http:',
    'a=b',
    '&',
  );
  const glue = fc.constantFrom('/', '/', '/', '', '?', '&');
  const targets = fc
    .array(fc.tuple(glue, hostile), { minLength: 1, maxLength: 10 })
    .map((parts) => `/${parts.map(([a, b]) => a + b).join('')}`.replace('//', '/'));
  const parsed = (text: string) => {
    try {
      return requestTarget(text);
    } catch {
      return undefined;
    }
  };

  it('an accepted target is canonical: parsing what is forwarded changes nothing', () => {
    fc.assert(
      fc.property(targets, (text) => {
        const target = parsed(text);
        fc.pre(target !== undefined);
        expect(requestTarget(target.text)).toEqual(target);
      }),
      { numRuns: 1000 },
    );
  });

  it('an accepted path means the same to WHATWG parsers and to servers that decode before they split', () => {
    fc.assert(
      fc.property(targets, (text) => {
        const target = parsed(text);
        fc.pre(target !== undefined);
        const [own = ''] = target.pathname.split(/(?<=\/proxy)(?:\/|$)/);
        const url = new URL(`http://hub${target.text}`);
        expect([url.pathname, url.hash, url.host]).toEqual([target.pathname, '', 'hub']);
        expect(decodeURIComponent(own).split('/')).toEqual(own.split('/').map(decodeURIComponent));
      }),
      { numRuns: 1000 },
    );
  });

  it('characters that are percent-encoded without need lead to the same target', () => {
    const names = fc.array(
      fc.stringMatching(/^[a-z0-9:@._-]{1,8}$/).filter((name) => !/^\.+$/.test(name)),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(names, (segments) => {
        const encoded = segments.map((name) =>
          [...name].map((c) => `%${c.charCodeAt(0).toString(16)}`).join(''),
        );
        expect(requestTarget(`/x/${encoded.join('/')}`).text).toBe(`/x/${segments.join('/')}`);
      }),
    );
  });
});
