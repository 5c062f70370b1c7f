import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { L7RouterSpec } from '../../api/index.ts';
import { readNetwork } from '../policy/networks.ts';
import { type ClientSettings, type Connection, clientFacts, clientsOf } from './index.ts';

const PEER = '10.0.0.1';
const trusting = (...networks: string[]): ClientSettings => ({
  trusted: networks.map((each) => readNetwork(each)!),
  header: 'x-forwarded-for',
  wholeUrl: true,
});
const connection = (headers: Record<string, string> = {}, more: Partial<Connection> = {}): Connection => ({
  peer: PEER,
  proxied: undefined,
  secure: false,
  port: 8080,
  header: (name) => headers[name],
  ...more,
});

describe('clientFacts', () => {
  it('believes nothing that a peer sends that is not trusted', () => {
    const text = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.constantFrom('http', 'https', 'a.io', '443'));
    const names = [
      'x-forwarded-for',
      'x-forwarded-proto',
      'x-forwarded-host',
      'x-forwarded-port',
      'forwarded',
    ];
    const headers = fc.record(Object.fromEntries(names.map((name) => [name, text])));
    const settings = fc.constantFrom(undefined, {}, trusting('10.0.0.2', '192.0.2.0/24'), {
      ...trusting('2001:db8::/32'),
      header: 'forwarded',
      fullForwardedFor: true as const,
    });
    fc.assert(
      fc.property(settings, headers, fc.option(fc.ipV4(), { nil: undefined }), (own, sent, proxied) => {
        expect(clientFacts(own, connection(sent, { proxied }))).toEqual({
          ...{ client: PEER, forwardedFor: PEER, secure: false, port: 8080, httpsPort: 443 },
        });
      }),
    );
  });

  it('never takes an address to the left of one that is not trusted', () => {
    const trusted = trusting(PEER, '192.0.2.0/24');
    const hop = fc.constantFrom('192.0.2.1', '192.0.2.2', '198.51.100.1', '198.51.100.2', 'x', '');
    fc.assert(
      fc.property(fc.array(hop, { maxLength: 6 }), (hops) => {
        const { client } = clientFacts(trusted, connection({ 'x-forwarded-for': hops.join(', ') }));
        const stop = hops.findLastIndex((each) => !each.startsWith('192.'));
        const found = stop < 0 ? hops[0] : hops[stop]!.startsWith('198.') ? hops[stop] : hops[stop + 1];
        expect(client).toBe(found === undefined || found === '' ? PEER : found);
      }),
    );
  });

  it('treats an IPv4 address in the form of IPv6 like the address', () => {
    const facts = clientFacts(
      trusting('10.0.0.1'),
      connection({ 'x-forwarded-for': '198.51.100.7' }, { peer: '::ffff:10.0.0.1' }),
    );
    expect(facts.client).toBe('198.51.100.7');
  });
});

describe('clientsOf', () => {
  const of = (spec: Partial<L7RouterSpec>): ClientSettings =>
    clientsOf({ spec: { ingressClassName: 'gold', driver: 'nginx', ...spec } });

  it('has the ports of the Service, unless clients use others', () => {
    expect(of({})).toEqual({ ports: { http: 80, https: 443 } });
    expect(of({ workload: { httpPort: 8000, httpsPort: 8443 } }).ports).toEqual({ http: 8000, https: 8443 });
    expect(of({ workload: { httpPort: 8000 }, clients: { httpsPort: 9443 } }).ports).toEqual({
      http: 8000,
      https: 9443,
    });
  });

  it('trusts no proxy if no network can be read, or if all clients would be trusted', () => {
    const none = { ports: { http: 80, https: 443 } };
    expect(of({ clients: { header: 'X-Forwarded-For', wholeUrl: true } })).toEqual(none);
    expect(of({ clients: { trustedProxies: ['proxy', '0.0.0.0/0', '::/0'], header: 'Forwarded' } })).toEqual(
      none,
    );
  });

  it('has the header in lower case', () => {
    const clients = {
      trustedProxies: ['10.0.0.0/8', 'x'],
      header: 'CF-Connecting-IP',
      fullForwardedFor: true,
    };
    expect(of({ clients })).toMatchObject({
      trusted: [readNetwork('10.0.0.0/8')],
      header: 'cf-connecting-ip',
      fullForwardedFor: true,
    });
  });
});
