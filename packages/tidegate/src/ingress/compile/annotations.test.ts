import { describe, expect, test } from 'vitest';
import { readPolicies } from '../policy/index.ts';
import { readAnnotations } from './annotations.ts';

const read = (name: string, value: string) => readAnnotations({ [`tidegate.io/${name}`]: value });

test('returns defaults without annotations', () => {
  expect(readAnnotations()).toEqual({
    protocol: 'http',
    balance: 'roundRobin',
    limits: {},
    redirectToHttps: false,
    closes: false,
    closesRoutes: false,
    policies: readPolicies(new Map(), { namespace: '', name: '' }),
    origins: [],
    secretFields: new Map(),
    problems: [],
  });
});

describe('readAnnotations with a valid value', () => {
  test.each([
    ['backend-protocol', 'HTTPS', { protocol: 'https' }],
    ['backend-protocol', 'grpc', { protocol: 'grpc' }],
    ['balance', 'leastconnections', { balance: 'leastConnections' }],
    ['proxy-connect-timeout', '5', { limits: { connectTimeoutMs: 5000 } }],
    ['proxy-connect-timeout', ' 500ms ', { limits: { connectTimeoutMs: 500 } }],
    ['proxy-read-timeout', '2m', { limits: { readTimeoutMs: 120_000 } }],
    ['proxy-read-timeout', '24h', { limits: { readTimeoutMs: 86_400_000 } }],
    ['max-body-size', '0', { limits: { maxBodyBytes: 0 } }],
    ['max-body-size', '8m', { limits: { maxBodyBytes: 8 * 1024 ** 2 } }],
    ['max-body-size', '1Gi', { limits: { maxBodyBytes: 1024 ** 3 } }],
    ['ssl-redirect', 'true', { redirectToHttps: true }],
    ['ssl-redirect', 'false', { redirectToHttps: false }],
  ])('reads %s: %s', (name, value, expected) => {
    expect(read(name, value)).toMatchObject({ ...expected, problems: [] });
  });
});

describe('readAnnotations with an invalid value', () => {
  test.each([
    ['balance', ''],
    ['proxy-connect-timeout', '0'],
    ['proxy-connect-timeout', '76'],
    ['proxy-connect-timeout', '1h'],
    ['proxy-read-timeout', '-1'],
    ['proxy-read-timeout', '1.5s'],
    ['proxy-read-timeout', '5s; } server {'],
    ['max-body-size', '8 m'],
    ['max-body-size', '999999999999g'],
    ['max-body-size', 'off'],
  ])('ignores and reports %s: %j', (name, value) => {
    const { problems, ...rest } = read(name, value);
    const { problems: _, ...nothing } = readAnnotations();
    expect(rest).toEqual(nothing);
    expect(problems).toMatchObject([
      { reason: 'InvalidAnnotation', field: `metadata.annotations[tidegate.io/${name}]` },
    ]);
  });
});

test.each(['yes', '', 'on'])(
  'closes the routes if a redirect to HTTPS is asked for in other words: %j',
  (value) => {
    const { closesRoutes, problems } = read('ssl-redirect', value);
    expect(closesRoutes).toBe(true);
    expect(problems).toMatchObject([
      {
        reason: 'InvalidAnnotation',
        field: 'metadata.annotations[tidegate.io/ssl-redirect]',
        message: `Invalid value ${JSON.stringify(value)}: write one of true, false. All requests for the paths of the Ingress get the response 503.`,
      },
    ]);
    expect(readAnnotations().closesRoutes).toBe(false);
  },
);

describe('an unsupported protocol of the backend', () => {
  test.each([
    ['tidegate.io/', 'fcgi'],
    ['tidegate.io/', ''],
    ['nginx.ingress.kubernetes.io/', 'FCGI'],
    ['nginx.ingress.kubernetes.io/', 'AUTO_HTTP'],
  ])('is not replaced by HTTP: %sbackend-protocol: %j', (prefix, value) => {
    const { protocol, problems } = readAnnotations({ [`${prefix}backend-protocol`]: value });
    expect(protocol).toBeUndefined();
    expect(problems).toEqual([
      {
        reason: 'InvalidAnnotation',
        about: 'routes',
        field: `metadata.annotations[${prefix}backend-protocol]`,
        message: `Invalid value ${JSON.stringify(value)}: write one of http, https, grpc, grpcs. Requests to the backends of the Ingress get the response 503.`,
      },
    ]);
  });
});

test('reports unknown annotations of Tidegate and of ingress-nginx, and not those of other programs', () => {
  expect(
    readAnnotations({
      'tidegate.io/ballance': 'x',
      'nginx.ingress.kubernetes.io/fastcgi-index': 'index.php',
      'apps.tidegate.io/edition': 'x',
    }).problems,
  ).toMatchObject([
    { reason: 'UnknownAnnotation', field: 'metadata.annotations[tidegate.io/ballance]' },
    {
      reason: 'AnnotationIgnored',
      field: 'metadata.annotations[nginx.ingress.kubernetes.io/fastcgi-index]',
    },
  ]);
});
