import { describe, expect, it } from 'vitest';
import { EVIL_TEXTS } from '../../../../../../test/dataplane/support/evil-texts.ts';
import { HONORED, readNginxAnnotations } from '../index.ts';
import { adviceFor } from './index.ts';
import { parseDirectives } from './parse.ts';

describe('directives of nginx', () => {
  it('are parsed with quotes, comments and braces', () => {
    const text = `# a comment; {
      add_header X-A "a; b" always;
      if ($scheme = http) { return 301 https://$host$request_uri; }
      return 301 https://\${host}/;
      deny 'all'`;
    expect(parseDirectives(text)).toEqual([
      { name: 'add_header', args: ['X-A', 'a; b', 'always'] },
      {
        name: 'if',
        args: ['($scheme', '=', 'http)'],
        block: [{ name: 'return', args: ['301', 'https://$host$request_uri'] }],
      },
      { name: 'return', args: ['301', `https://\${host}/`] },
      { name: 'deny', args: ['all'] },
    ]);
  });

  it('are parsed in linear time, whatever the text is', () => {
    for (const text of [...EVIL_TEXTS, '{'.repeat(100_000), '"'.repeat(100_000), 'a\\'.repeat(100_000)])
      expect(parseDirectives(text).length).toBeLessThan(20_000);
  });
});

describe('typed forms', () => {
  it.each([
    [
      'add_header X-Frame-Options DENY always;',
      'custom-headers with the name of a ConfigMap that has "X-Frame-Options": "DENY"',
    ],
    ['more_set_headers "X-A: b c";', 'custom-headers with the name of a ConfigMap that has "X-A": "b c"'],
    ['add_header Access-Control-Allow-Origin *;', 'enable-cors: "true" and cors-allow-origin: "*"'],
    ['return 301 https://b.io$request_uri;', 'permanent-redirect: "https://b.io$request_uri"'],
    ['return 302 /b;', 'temporal-redirect: "/b"'],
    ['return 308 /b;', 'permanent-redirect: "/b" and permanent-redirect-code: "308"'],
    ['return 403;', 'denylist-source-range: "0.0.0.0/0,::/0"'],
    ['return 404;', 'no path for it in spec.rules: the response is 404 then'],
    ['rewrite ^/(.*)$ https://b.io/$1 permanent;', 'permanent-redirect: "https://b.io$request_uri"'],
    [
      'rewrite ^/old$ /new redirect;',
      'an Ingress with the path "/old$", use-regex: "true" and temporal-redirect: "/new"',
    ],
    [
      'rewrite ^/a/(.*)$ /b/$1 break;',
      'an Ingress with the path "/a/(.*)$", use-regex: "true" and rewrite-target: "/b/$1"',
    ],
    ['allow 10.0.0.0/8;', 'allowlist-source-range: "10.0.0.0/8"'],
    ['deny all;', 'denylist-source-range: "0.0.0.0/0,::/0"'],
    ['proxy_set_header Host b.io;', 'upstream-vhost: "b.io"'],
    ['proxy_set_header X-Real-IP $remote_addr;', 'nothing: routers send this header'],
    ['proxy_read_timeout 60s;', 'proxy-read-timeout: "60s"'],
    ['client_max_body_size 8m;', 'proxy-body-size: "8m"'],
    ['if ($scheme = http) { return 301 https://$host$request_uri; }', 'force-ssl-redirect: "true"'],
    ['if ($host = "www.a.io") { return 301 https://a.io$request_uri; }', 'from-to-www-redirect: "true"'],
    [
      'if ($request_uri ~* "^/admin") { return 403; }',
      'an Ingress with the path "/admin", use-regex: "true" and denylist-source-range: "0.0.0.0/0,::/0"',
    ],
    ['if ($remote_addr = 10.0.0.1) { return 403; }', 'denylist-source-range: "10.0.0.1"'],
    [
      'location ~ ^/internal { deny all; }',
      'an Ingress with the path "/internal", use-regex: "true" and denylist-source-range: "0.0.0.0/0,::/0"',
    ],
    [
      'location = /x { return 301 /y; }',
      'an Ingress with the path "/x" of type Exact and permanent-redirect: "/y"',
    ],
  ])('%s', (snippet, form) => {
    const [first = ''] = adviceFor('configuration-snippet', snippet);
    expect(first).toContain(`, write ${form}.`);
    // What is named exists.
    for (const [, name = ''] of form.matchAll(/([a-z-]+): "/g)) expect([...HONORED.keys()]).toContain(name);
  });

  it('of lists of networks are one list, which excludes all others', () => {
    expect(adviceFor('configuration-snippet', 'allow 10.0.0.0/8; allow ::1; deny all;')).toEqual([
      'In place of "allow 10.0.0.0/8,::1", write allowlist-source-range: "10.0.0.0/8,::1".',
    ]);
  });

  it('are named in the refusal, with the directives that have none', () => {
    const annotation = 'nginx.ingress.kubernetes.io/server-snippet';
    const value = 'add_header X-A 1; lua_need_request_body on; add_header X-B $host;';
    const [{ message = '' } = {}] = readNginxAnnotations({ [annotation]: value }).refused;
    expect(message).toContain('In place of "add_header X-A 1", write custom-headers');
    expect(message).toContain('Without a typed form: "lua_need_request_body on", "add_header X-B $host".');
    expect(message).toMatch(/503\. .* Then remove the annotation\.$/);
  });

  it('of headers for the server that authenticates clients are another annotation', () => {
    expect(adviceFor('auth-snippet', 'proxy_set_header X-A b;')).toEqual([
      'In place of "proxy_set_header X-A b", write auth-proxy-set-headers with the name of a ConfigMap that has "X-A": "b".',
    ]);
  });

  it('do not exist for other annotations, and for what is not understood', () => {
    expect(adviceFor('stream-snippet', 'deny all;')).toEqual([]);
    expect(adviceFor('configuration-snippet', 'set $a b;')).toEqual([]);
    for (const text of EVIL_TEXTS)
      expect(adviceFor('server-snippet', text).join('\n').length, text.slice(0, 60)).toBeLessThan(10_000);
  });
});
