import { describe, expect, it } from 'vitest';
import { describeBackendTls, readPolicies } from './index.ts';

const read = (annotations: Record<string, string>) =>
  readPolicies(new Map(Object.entries(annotations)), { namespace: 'shop', name: 'web' });

describe('annotations about TLS to backends', () => {
  it('have the defaults of ingress-nginx, and no effect on routes', () => {
    expect(read({ 'proxy-ssl-secret': 'shop/pair' })).toMatchObject({
      route: undefined,
      guards: false,
      invalid: [],
      backendTls: {
        ...{ credentials: 'shop/pair#client', verify: false, depth: 1, sendsName: false },
        protocols: ['TLSv1.2', 'TLSv1.3'],
      },
    });
    expect(read({ 'proxy-body-size': '1m' }).backendTls).toBe(undefined);
  });

  it('need authorities to verify', () => {
    const { backendTls } = read({ 'proxy-ssl-secret': 'pair', 'proxy-ssl-verify': 'on' });
    expect(backendTls).toMatchObject({ credentials: 'shop/pair#client-ca', verify: true });
    expect(describeBackendTls(backendTls!)).toBe(
      'checks the certificates of endpoints with the authorities of Secret shop/pair and the name of the Service',
    );
    expect(read({ 'proxy-ssl-verify': 'on' }).invalid).toMatchObject([
      { name: 'proxy-ssl-verify', effect: 'closesRoutes' },
    ]);
  });

  it.each([
    ['proxy-ssl-secret', 'other/pair'],
    ['proxy-ssl-secret', 'pair#client-ca'],
    ['proxy-ssl-verify', 'true'],
    ['proxy-ssl-server-name', 'yes'],
    ['proxy-ssl-name', '$host'],
    ['proxy-ssl-name', 'a b'],
    ['proxy-ssl-verify-depth', '21'],
    ['proxy-ssl-protocols', 'TLSv1.2 TLSv1.1'],
    ['proxy-ssl-ciphers', 'HIGH@SECLEVEL=0'],
    ['proxy-ssl-ciphers', 'no-such-cipher'],
  ])('close the routes with %s: %j', (name, value) => {
    expect(read({ [name]: value }).invalid).toMatchObject([{ name, effect: 'closesRoutes' }]);
  });
});
