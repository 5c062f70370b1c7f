import { describe, expect, it } from 'vitest';
import { type ConfigInputs, nginxConfig } from './config.ts';

const INPUTS: ConfigInputs = {
  modules: ['/m/lua.so'],
  hasHttp2Directive: false,
  lua: '/lua',
  runtime: '/run/x',
  defaultCertificate: '/state/default.pem',
  address: '0.0.0.0',
  httpPort: 80,
  httpsPort: 443,
  proxyProtocol: false,
  workers: 2,
  className: 'gold',
  router: 'gold-2',
  identity: undefined,
  sections: 0,
  instance: '0123456789abcdef',
  mark: 'tidegate-0',
  connectTimeoutMs: 1,
  readTimeoutMs: 2,
  maxBodyBytes: 3,
  memory: { hosts: 4, upstreams: 5, certificates: 6, credentials: 7 },
  accessLog: '/var/log/access.log',
  initialTable: '/run/x/initial-table',
  relayDirectory: '/run/x/relays',
};

describe('nginxConfig', () => {
  it('listens on the given address and ports', () => {
    expect(nginxConfig(INPUTS)).toContain('listen 0.0.0.0:443 ssl http2;');
    expect(nginxConfig({ ...INPUTS, address: '::' })).toContain('listen [::]:80 ipv6only=off;');
  });

  it('enables HTTP/2 as the version of nginx wants it', () => {
    const config = nginxConfig({ ...INPUTS, hasHttp2Directive: true });
    expect(config).toMatch(/listen 0\.0\.0\.0:443 ssl;\n +http2 on;/);
  });

  it.each(['/tmp/a"b', '/tmp/$x', '/tmp/a;b', '/tmp/{', '/tmp/a\nb', '/tmp/a\\'])(
    'rejects a path with special characters: %j',
    (path) => {
      expect(() => nginxConfig({ ...INPUTS, runtime: path })).toThrow('nginx cannot use the path');
    },
  );

  it('rejects a class name that is not valid', () => {
    expect(() => nginxConfig({ ...INPUTS, className: "gold'; }" })).toThrow(
      'is not a valid IngressClass name',
    );
  });
});
