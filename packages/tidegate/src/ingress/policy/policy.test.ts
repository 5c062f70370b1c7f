import { describe, expect, it } from 'vitest';
import { describePolicy, locationOf, readPolicies } from './index.ts';
import { contains, networkText, octetsOf, readNetwork } from './networks.ts';

const read = (annotations: Record<string, string>) =>
  readPolicies(new Map(Object.entries(annotations)), { namespace: 'shop', name: 'web' });

describe('a network', () => {
  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['172.31.255.255/12', '172.16.0.0/12'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['::1', '::1/128'],
    ['::/0', '::/0'],
    ['::ffff:10.0.0.1', '10.0.0.1/32'],
    ['fe80::1:0:0:1/64', 'fe80::/64'],
  ])('%s is %s', (written, text) => {
    expect(networkText(readNetwork(written)!)).toBe(text);
  });

  it.each([
    '',
    '10.0.0.0/33',
    '10.0.0/8',
    '::/129',
    '10.0.0.0/8/8',
    'a',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '1.2.3.4/ 8',
    'fe80::1%eth0',
  ])('%j is not valid', (written) => {
    expect(readNetwork(written)).toBe(undefined);
  });

  it.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['172.16.0.0/12', '172.31.0.1', true],
    ['172.16.0.0/12', '172.32.0.1', false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', true],
    ['::/0', '10.0.0.1', false],
    ['0.0.0.0/0', '::1', false],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
  ])('%s contains %s: %s', (network, address, expected) => {
    expect(contains(readNetwork(network)!, octetsOf(address)!)).toBe(expected);
  });
});

describe('policies of an Ingress', () => {
  it('are absent without annotations', () => {
    expect(read({})).toMatchObject({ route: undefined, invalid: [], guards: false });
  });

  it('have several kinds at once, and are described in the order in which they apply', () => {
    const { route, rewrite, invalid } = read({
      'whitelist-source-range': '10.0.0.0/8,::1',
      'denylist-source-range': '10.1.0.0/16',
      'temporal-redirect': 'https://a.io$request_uri',
      'enable-cors': 'true',
      'cors-allow-origin': 'https://*.io,http://b.io',
      'upstream-vhost': 'c.io',
      'limit-rpm': '30',
      'limit-connections': '2',
      'limit-whitelist': '::1',
      'limit-rate': '1',
      'auth-type': 'basic',
      'auth-secret': 'users',
      satisfy: 'any',
      'rewrite-target': '/$1',
      'x-forwarded-prefix': '/p',
    });
    expect(invalid).toEqual([]);
    expect(describePolicy({ ...route, secure: true, rewrite: rewrite!.rewrite })).toEqual([
      'redirects to https://a.io$request_uri with status 302',
      'redirects requests over HTTP to HTTPS',
      'lets browsers use it from https://*.io, http://b.io',
      'refuses clients in 10.1.0.0/16',
      'serves only clients in 10.0.0.0/8, ::1/128',
      'serves 30 requests per minute of a client, with a burst of 150, except for clients in ::1/128',
      'serves 2 requests of a client at a time, except for clients in ::1/128',
      'sends 1024 bytes of a response in each second',
      'asks for the name and password of a user in Secret shop/users',
      'serves clients that are in the allow list, or authenticate',
      'rewrites the path to /$1',
      'sends X-Forwarded-Prefix: /p',
      'sends Host: c.io',
    ]);
  });

  it.each<[string, string, string]>([
    ['whitelist-source-range', '', 'closesHosts'],
    ['allowlist-source-range', '10.0.0.0/8;deny all', 'closesHosts'],
    ['denylist-source-range', Array(1001).fill('10.0.0.0/8').join(), 'closesHosts'],
    ['permanent-redirect', '//evil.io', 'closesRoutes'],
    ['permanent-redirect', 'https://a.io$http_authorization', 'closesRoutes'],
    ['permanent-redirect', 'https://a.io/\r\nX: y', 'closesRoutes'],
    ['temporal-redirect', 'ftp://a.io', 'closesRoutes'],
    ['permanent-redirect-code', '500', 'closesRoutes'],
    ['rewrite-target', 'x', 'closesRoutes'],
    ['rewrite-target', '/$request_uri', 'closesRoutes'],
    ['rewrite-target', '/a b', 'closesRoutes'],
    ['x-forwarded-prefix', '/a\nX: y', 'closesRoutes'],
    ['force-ssl-redirect', 'yes', 'closesRoutes'],
    ['app-root', 'http://evil.io', 'ignored'],
    ['enable-access-log', 'no', 'ignored'],
    ['mirror-target', 'http://127.0.0.1/', 'ignored'],
    ['mirror-target', 'http://$host/', 'ignored'],
    ['mirror-target', 'copy.io', 'ignored'],
    ['mirror-host', 'a b', 'ignored'],
    ['mirror-request-body', 'yes', 'ignored'],
    ['service-upstream', 'yes', 'ignored'],
    ['proxy-redirect-from', 'a b', 'closesRoutes'],
    ['proxy-redirect-from', '~(?=x)', 'closesRoutes'],
    ['proxy-cookie-domain', 'a.io', 'closesRoutes'],
    ['proxy-cookie-domain', 'a.io b.io c.io', 'closesRoutes'],
    ['proxy-cookie-domain', 'a.io b.io;deny', 'closesRoutes'],
    ['proxy-cookie-path', '/a /$1', 'closesRoutes'],
    ['proxy-cookie-path', '/a /$http_cookie', 'closesRoutes'],
    ...[
      ...['', 'auth.io', 'ftp://auth.io/', 'http://', 'http://user:pw@auth.io/', 'http://auth.io/#x'],
      ...['http://auth.io/$http_authorization', 'http://$remote_addr/', 'http://auth.io:0/', 'http://a b/'],
      // Addresses of the node and of its link, among them the metadata of clouds.
      ...['http://127.0.0.1/', 'http://localhost/', 'http://x.localhost./', 'http://[::1]:80/'],
      ...['http://169.254.169.254/latest', 'http://[fe80::1]/', 'http://[::ffff:7f00:1]/', 'http://0.0.0.0/'],
      ...['http://[::]/', 'http://224.0.0.1/', 'http://$host:81/', 'http://auth.io/\r\nX: y'],
    ].map((url): [string, string, string] => ['auth-url', url, 'closesHosts']),
  ])('with %s: %j have the effect %s', (name, value, effect) => {
    expect(read({ [name]: value }).invalid).toMatchObject([{ name, effect }]);
  });

  it.each<[string, string]>([
    ['auth-method', 'TRACE'],
    ['auth-signin', '/start'],
    ['auth-signin', 'https://a.io/#$request_uri'],
    ['auth-signin-redirect-param', 'a&b'],
    ['auth-request-redirect', '$http_cookie'],
    ...['Host', 'X-Real-IP', 'Transfer-Encoding', 'X Y', 'X-Forwarded-For', 'connection'].map(
      (name): [string, string] => ['auth-response-headers', name],
    ),
    ['auth-cache-key', '$http_authorization;$(x)'],
    ['auth-cache-duration', '200 8d'],
    ['auth-cache-duration', '200 10m;'],
    ['auth-keepalive', '-1'],
    ['auth-keepalive-requests', 'many'],
    ['auth-keepalive-timeout', '1m'],
    ['auth-keepalive-share-vars', 'yes'],
    ['auth-always-set-cookie', 'yes'],
  ])('with auth-url and %s: %j close the hosts, and so they do without auth-url', (name, value) => {
    const all = { 'auth-url': 'http://auth.io/', [name]: value };
    expect(read(all).invalid).toMatchObject([{ name, effect: 'closesHosts' }]);
    expect(read({ [name]: value }).invalid[0]).toMatchObject({ name, effect: 'closesHosts' });
  });

  it('that copy requests are described', () => {
    const target = { 'mirror-target': 'https://copy.io$request_uri' };
    const { route, servers } = read({ ...target, 'mirror-host': 'b.io', 'mirror-request-body': 'off' });
    expect(describePolicy(route!)).toEqual([
      'sends a copy of each request, without its body, to https://b.io$request_uri',
    ]);
    expect(servers).toEqual([
      { id: 'shop_@copy.io@443_https', host: 'copy.io', port: 443, protocol: 'https' },
    ]);
  });

  it('that change responses are described', () => {
    const { route } = read({
      'proxy-redirect-from': 'http://in.io/',
      'proxy-redirect-to': '$scheme://$host/',
      'proxy-cookie-domain': '~\\.in\\.io$ out.io',
      'proxy-cookie-path': '/a /',
    });
    expect(describePolicy(route!)).toEqual([
      'replaces http://in.io/ by $scheme://$host/ in redirects',
      'replaces what its expression matches by out.io in domains of cookies',
      'replaces /a by / in paths of cookies',
    ]);
    expect(read({ 'proxy-redirect-from': 'default', 'proxy-redirect-to': 'x' }).route).toBe(undefined);
    expect(read({ 'proxy-redirect-from': 'x' })).toMatchObject({ route: undefined, invalid: [] });
    expect(read({ 'proxy-redirect-from': 'x', 'proxy-redirect-to': 'a b' }).invalid).toMatchObject([
      { name: 'proxy-redirect-to', effect: 'closesRoutes' },
    ]);
  });

  it('that ask another server are described', () => {
    const { route, servers } = read({
      'auth-url': 'https://Auth.io/check?u=$request_uri',
      'auth-signin': 'https://$host/start',
      'auth-response-headers': 'X-User',
      'auth-cache-key': '$remote_user',
    });
    expect(describePolicy(route!)).toEqual([
      'asks https://auth.io/check?u=$request_uri about each request, and keeps the answers',
      'redirects clients without a session to https://$host/start?rd=$scheme://$http_host$escaped_request_uri',
      'sends X-User of its answers',
    ]);
    expect(servers).toEqual([
      { id: 'shop_@auth.io@443_https', host: 'auth.io', port: 443, protocol: 'https' },
    ]);
    // The name of a user alone proves nothing.
    expect(route?.externalAuth?.cache?.key).toEqual([{ kind: 'header', name: 'authorization' }]);
  });

  it.each([
    ['https://a.io$uri?x=$\x7bargs}', 'https://a.io/p?x=q=1'],
    ['$scheme://$http_host:1$uri$is_args$query_string', 'http://b.io:80:1/p?q=1'],
    ['/x#y', '/x#y'],
  ])('redirect to %s', (to, expected) => {
    const { route } = read({ 'permanent-redirect': to });
    const facts = { secure: false, name: 'b.io', authority: 'b.io:80', target: '/p?q=1' };
    expect(locationOf(route!.redirect!, facts)).toBe(expected);
  });
});
