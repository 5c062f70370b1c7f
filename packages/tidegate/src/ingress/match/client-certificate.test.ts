import { describe, expect, it } from 'vitest';
import type { Credentials, Delta, RouteAction } from '../model.ts';
import type { ClientCertificate, RoutePolicy } from '../policy/index.ts';
import { certificateAnswer, clientCertificateFor } from './client-certificate.ts';
import { applyDelta, EMPTY_TABLE, type RouteTable } from './table.ts';

const needs = (credentials: string, more: Partial<ClientCertificate> = {}): ClientCertificate => ({
  ...{ credentials, verify: 'on', depth: 1 },
  ...more,
});
const action = (clientCertificate?: ClientCertificate): RouteAction => ({
  backends: [],
  limits: {},
  ...(clientCertificate && { policy: { clientCertificate } }),
  source: { kind: 'Ingress', namespace: 'shop', name: 'web', rule: 0, path: 0 },
});

/** The routes of `a.io` in their order, and the Secrets that exist. */
function tableOf(routes: Record<string, ClientCertificate | undefined>, secrets: string[]): RouteTable {
  const credentials: Credentials[] = secrets.map((id) => ({
    ...{ id, users: {}, authorities: { certificates: [], revoked: [] } },
  }));
  const delta: Delta = {
    ...{ from: 0, to: 1, upstreams: { set: [], remove: [] }, certificates: { set: [], remove: [] } },
    hosts: {
      set: [
        {
          ...{ host: 'a.io', namespace: 'shop' },
          routes: Object.entries(routes).map(([path, needed]) => ({
            ...{ path, match: 'Prefix', headers: [], action: action(needed) },
          })),
        },
      ],
      remove: [],
    },
    credentials: { set: credentials, remove: [] },
  };
  return applyDelta(EMPTY_TABLE, delta);
}

describe('a handshake', () => {
  it('asks for the certificates of the first route that needs one', () => {
    const off = needs('shop/off#ca', { verify: 'off' });
    const table = tableOf({ '/c': off, '/b': needs('shop/b#ca'), '/a': needs('shop/a#ca') }, []);
    expect(clientCertificateFor(table, 'a.io')?.credentials).toBe('shop/b#ca');
    expect(clientCertificateFor(table, 'b.io')).toBe(undefined);
    expect(clientCertificateFor(table, '')).toBe(undefined);
  });
});

describe('the answer to a client', () => {
  const first = needs('shop/first#ca');
  const table = tableOf({ '/a': first, '/b': needs('shop/second#ca') }, ['shop/first#ca', 'shop/second#ca']);
  const answerTo = (
    policy: RoutePolicy,
    {
      secure = true,
      isWithout = false,
      of = table,
    }: { secure?: boolean; isWithout?: boolean; of?: RouteTable } = {},
  ) => {
    const request = { secure, name: 'a.io', authority: 'a.io', target: '/a?b' };
    const found = certificateAnswer(policy, request, { table: of, isWithout });
    return found && `${found.status} ${found.location ?? found.why}`;
  };

  it('is that of the backend with a certificate, and 400 or the error page without', () => {
    expect(answerTo({ clientCertificate: first })).toBe(undefined);
    expect(answerTo({ clientCertificate: first }, { isWithout: true })).toBe(
      '400 the client has no certificate',
    );
    const page = needs('shop/first#ca', { errorPage: ['https://help.io', { variable: 'request_uri' }] });
    expect(answerTo({ clientCertificate: page }, { isWithout: true })).toBe('302 https://help.io/a?b');
    const optional = needs('shop/first#ca', { verify: 'optional' });
    expect(answerTo({ clientCertificate: optional }, { isWithout: true })).toBe(undefined);
  });

  it('is 421 if the host asks for certificates of another Secret', () => {
    expect(answerTo({ clientCertificate: needs('shop/second#ca') })).toMatch(
      /^421 .*shop\/first.*shop\/second/,
    );
  });

  it('is 503 without the Secret', () => {
    expect(answerTo({ clientCertificate: needs('shop/gone#ca') })).toMatch(/^503 Secret shop\/gone /);
  });

  it('is 403 over plain HTTP, unless it is redirected', () => {
    expect(answerTo({ clientCertificate: first }, { secure: false })).toMatch(/^403 /);
    expect(answerTo({ clientCertificate: first, secure: true }, { secure: false })).toBe(undefined);
  });
});
