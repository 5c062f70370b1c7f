import { describe, expect, it } from 'vitest';
import { HONORED } from '../nginx-annotations/index.ts';
import { CONFIG_KEYS, defaultAnnotations, readNginxConfig } from './index.ts';

const problemsOf = (values: Record<string, string>): string[] =>
  readNginxConfig(values).problems.map(({ key, message }) => `${key}: ${message}`);

describe('keys of the ConfigMap of ingress-nginx', () => {
  it('are honored if 30 of the most used are', () => {
    const honored = [...CONFIG_KEYS].filter(
      ([, { verdict, of }]) => verdict === 'honored' && of !== undefined,
    );
    expect(honored.length).toBeGreaterThanOrEqual(30);
  });

  it('are defaults only of annotations that Tidegate honors', () => {
    const defaults = [...CONFIG_KEYS].filter(([, { of }]) => of === 'ingresses').map(([key]) => key);
    expect(defaults.filter((key) => !HONORED.has(key))).toEqual([]);
  });

  it('become settings', () => {
    const { clients, ingressDefaults, problems, ignored } = readNginxConfig({
      'use-forwarded-headers': 'true',
      'compute-full-forwarded-for': 'true',
      'proxy-real-ip-cidr': '10.0.0.0/8, 2001:db8::/32',
      'use-proxy-protocol': 'true',
      'proxy-body-size': '8m',
      'ssl-redirect': 'false',
      'whitelist-source-range': '',
      'use-gzip': 'true',
      'server-tokens': 'false',
      replicas: '2',
    });
    expect(clients).toEqual({
      trustedProxies: ['10.0.0.0/8', '2001:db8::/32'],
      proxyProtocol: true,
      header: 'X-Forwarded-For',
      wholeUrl: true,
      fullForwardedFor: true,
    });
    expect(ingressDefaults).toEqual({ 'proxy-body-size': '8m', 'ssl-redirect': 'false' });
    expect(problems).toEqual([]);
    expect(ignored.map(({ key }) => key)).toEqual(['use-gzip']);
  });

  it('trust no proxy without a key that uses the proxies', () => {
    expect(readNginxConfig({ 'proxy-real-ip-cidr': '10.0.0.0/8' }).clients).toEqual({});
    expect(readNginxConfig({ 'forwarded-for-header': 'X-Real-IP' }).clients).toEqual({});
    expect(
      readNginxConfig({ 'use-forwarded-headers': 'false', 'proxy-real-ip-cidr': '10.0.0.0/8' }).clients,
    ).toEqual({});
  });

  it('report the address only with enable-real-ip', () => {
    const values = {
      'enable-real-ip': 'true',
      'proxy-real-ip-cidr': '10.0.0.1',
      'forwarded-for-header': 'Forwarded',
    };
    expect(readNginxConfig(values).clients).toEqual({ trustedProxies: ['10.0.0.1'], header: 'Forwarded' });
  });

  it.each([
    [{ 'use-forwarded-headers': 'true' }, 'use-forwarded-headers: needs proxy-real-ip-cidr'],
    [{ 'enable-real-ip': 'true' }, 'enable-real-ip: needs proxy-real-ip-cidr'],
    [{ 'use-proxy-protocol': 'true' }, 'use-proxy-protocol: needs proxy-real-ip-cidr'],
    [{ 'use-forwarded-headers': 'yes' }, 'use-forwarded-headers: "yes" is invalid: write true or false'],
    [{ 'proxy-real-ip-cidr': '0.0.0.0/0' }, 'proxy-real-ip-cidr: "0.0.0.0/0" trusts every client'],
    [{ 'proxy-real-ip-cidr': '10.0.0.1,::/0' }, 'proxy-real-ip-cidr: "::/0" trusts every client'],
    [
      { 'proxy-real-ip-cidr': 'proxy' },
      'proxy-real-ip-cidr: "proxy" is invalid: write comma-separated networks',
    ],
    [{ 'forwarded-for-header': 'X Y' }, 'forwarded-for-header: "X Y" is invalid: write the name of a header'],
    [{ 'proxy-body-size': 'large' }, 'proxy-body-size: Invalid value "large"'],
    [{ 'whitelist-source-range': '10.0.0.0/99' }, 'whitelist-source-range: Invalid value'],
    [{ 'block-cidrs': '192.0.2.0/24' }, 'block-cidrs: is refused. It restricts access'],
    [{ 'http-snippet': 'deny all;' }, 'http-snippet: is refused.'],
    [{ 'global-auth-url': 'http://auth' }, 'global-auth-url: is refused.'],
  ])('refuse %j', (values: Record<string, string>, message) => {
    expect(problemsOf(values)).toEqual([expect.stringContaining(message)]);
  });

  it('become annotations, and no others do', () => {
    expect(
      defaultAnnotations({ 'proxy-body-size': '8m', 'auth-url': 'http://evil', 'block-cidrs': 'x' }),
    ).toEqual({
      'nginx.ingress.kubernetes.io/proxy-body-size': '8m',
    });
  });
});
