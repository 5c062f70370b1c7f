import { describe, expect, test } from 'vitest';
import { authOf } from './cloud.ts';
import { messageIn, OpenStackError } from './errors.ts';
import { readKuryrConf } from './kuryr-conf.ts';
import { readCloud } from './read-cloud.ts';

describe('readKuryrConf', () => {
  test("reads the keys of Kuryr's design and ignores others", () => {
    const text =
      '[neutron_defaults]\nexternal_svc_subnet=external\nproject = p\n[kubernetes]\n# comment\nl7_router_driver= neutron_l7_policy\napi_root = http://x\n';
    expect(readKuryrConf(text)).toEqual({ externalSubnetId: 'external' });
  });

  test.each([
    [
      '[kubernetes]\nl7_router_driver = other',
      /\[kubernetes\] l7_router_driver is other: the only supported driver/,
    ],
    ['[kubernetes]\nnonsense', /kuryr.conf, line 2: write \[section\], or key = value/],
  ])('refuses %j', (text, message) => {
    expect(() => readKuryrConf(text)).toThrow(message);
  });
});

describe('readCloud', () => {
  test('needs no authentication for a cloud for tests', async () => {
    const cloud = await readCloud({
      OS_AUTH_TYPE: 'none',
      OS_ENDPOINT: 'http://127.0.0.1:9876/',
      OS_PROJECT_ID: 'p',
    });
    expect(cloud).toEqual({
      auth: { type: 'none', projectId: 'p' },
      endpoints: { 'load-balancer': 'http://127.0.0.1:9876' },
      interface: 'public',
      verify: true,
    });
  });

  test.each([
    [{}, 'No cloud is configured: set OS_CLOUD to the name of a cloud in clouds.yaml, or set OS_AUTH_URL'],
    [{ OS_AUTH_TYPE: 'password' }, 'the environment (OS_...): auth_url is missing.'],
    [{ OS_AUTH_URL: 'http://k', OS_USERNAME: 'u' }, 'the environment (OS_...): password is missing.'],
    [{ OS_AUTH_URL: 'k' }, 'the environment (OS_...): auth_url must start with http:// or https://.'],
    [
      { OS_AUTH_URL: 'http://k', OS_USERNAME: 'u', OS_PASSWORD: 'p' },
      'project_id or project_name is missing.',
    ],
    [{ OS_AUTH_TYPE: 'v3totp' }, 'auth_type v3totp is not supported'],
    [
      { OS_CLOUD: 'a', OS_CLIENT_CONFIG_FILE: '/does/not/exist' },
      'none of these files exists: /does/not/exist.',
    ],
  ])('refuses %j', async (environment, message) => {
    await expect(readCloud(environment)).rejects.toThrow(message);
  });

  test('builds the token request of an application credential by name', () => {
    const fields = {
      ...{ auth_url: 'http://k', application_credential_name: 'n', application_credential_secret: 's' },
      ...{ username: 'u', user_domain_id: 'd' },
    };
    expect(authOf(undefined, fields, 'test')).toMatchObject({
      identity: {
        methods: ['application_credential'],
        application_credential: { name: 'n', secret: 's', user: { name: 'u', domain: { id: 'd' } } },
      },
    });
  });
});

describe('OpenStackError', () => {
  test.each([
    [409, 'Load Balancer 1 is immutable and cannot be updated.', 'busy'],
    [409, 'L7Policy 1 is immutable and cannot be updated.', 'busy'],
    [409, 'Invalid state PENDING_CREATE of loadbalancer resource 1', 'busy'],
    [
      409,
      'Another Listener on this Load Balancer is already using protocol HTTP and protocol_port 80',
      'conflict',
    ],
    [409, "Quota exceeded for resources: ['floatingip'].", 'quota'],
    [403, 'Quota has been met for resources: L7policy', 'quota'],
    [403, 'Policy does not allow this request to be performed.', 'denied'],
    [401, 'The request you have made requires authentication.', 'denied'],
    [404, 'pool 1 not found.', 'notFound'],
    [400, 'Invalid input', 'invalid'],
    [501, 'not supported', 'invalid'],
    [503, '', 'unavailable'],
  ])('%i %s is %s', (status, message, kind) => {
    expect(new OpenStackError(message, { status }).kind).toBe(kind);
  });

  test('has the words of each service', () => {
    expect(messageIn({ faultstring: 'of Octavia' }, '')).toBe('of Octavia');
    expect(messageIn({ NeutronError: { message: 'of Neutron' } }, '')).toBe('of Neutron');
    expect(messageIn({ error: { message: 'of Keystone' } }, '')).toBe('of Keystone');
    expect(messageIn(undefined, '<html><h1>405</h1> Not allowed</html>')).toBe('405 Not allowed');
  });
});
