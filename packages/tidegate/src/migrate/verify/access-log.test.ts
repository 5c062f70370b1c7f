import { describe, expect, it } from 'vitest';
import { ingressOf } from '../testing/ingresses.ts';
import { readLogLine, requestsOfLog } from './access-log.ts';
import { modelsOf } from './models.ts';

const COMBINED =
  '192.0.2.1 - - [18/Nov/2026:04:28:16 +0000] "GET /cart?id=1 HTTP/1.1" 200 64 "-" "curl/7.88.1"';
const UPSTREAM = (target: string, upstream: string, method = 'GET'): string =>
  `192.0.2.1 - anna [18/Nov/2026:04:28:16 +0000] "${method} ${target} HTTP/2.0" 200 64 "https://a.example.com/" "Mozilla \\x22x\\x22" 80 0.004 [${upstream}] [] 10.9.0.1:9001 64 0.004 200 0123456789abcdef`;

describe('a line of an access log', () => {
  it.each([
    [COMBINED, { method: 'GET', target: '/cart?id=1' }],
    [UPSTREAM('/x', 'shop-web-80'), { method: 'GET', target: '/x', upstream: 'shop-web-80' }],
    [UPSTREAM('/x', ''), { method: 'GET', target: '/x' }],
    ['192.0.2.1 - - [18/Nov/2026:04:28:16 +0000] "\\x16\\x03\\x01" 400 157 "-" "-"', undefined],
    ['{"status": 200}', undefined],
  ])('%s', (line, expected) => {
    expect(readLogLine(line)).toEqual(expected);
  });
});

describe('requests of an access log', () => {
  const models = (hosts: string[]) =>
    modelsOf(
      {
        ingresses: hosts.map((host) => ingressOf({ host, paths: [`/${host[0]}`], tls: host[0] === 'b' })),
        classes: [],
        configMaps: [],
      },
      {},
      0,
    )!;
  const read = (lines: string[], hosts: string[], host?: string) =>
    requestsOfLog(lines, { models: models(hosts), host, methods: ['GET'] });

  it('are for the hosts that lead to the same upstream', () => {
    const lines = ['/a/1', '/b/1', '/b/1'].map((target) => UPSTREAM(target, `default-s-${target[1]}-80`));
    const { requests, ...counts } = read(lines, ['a.example.com', 'b.example.com']);
    expect(requests).toMatchObject([
      { host: 'a.example.com', target: '/a/1', secure: false },
      { host: 'b.example.com', target: '/b/1', secure: true },
    ]);
    expect(counts).toEqual({ lines: 3, unreadable: 0, otherMethods: 0, withoutHost: 0 });
  });

  it('count what is left out', () => {
    const lines = [COMBINED, UPSTREAM('/a', 'default-s-a-80', 'POST'), 'x', ''];
    expect(read(lines, ['a.example.com', 'b.example.com'])).toEqual({
      requests: [],
      lines: 3,
      unreadable: 1,
      otherMethods: 1,
      withoutHost: 1,
    });
  });

  it('are for the only host, or for the host that the user names', () => {
    expect(read([COMBINED], ['a.example.com']).requests).toMatchObject([{ host: 'a.example.com' }]);
    const named = read([COMBINED], ['a.example.com', 'b.example.com'], 'b.example.com');
    expect(named.requests).toMatchObject([{ host: 'b.example.com', secure: true }]);
  });
});
