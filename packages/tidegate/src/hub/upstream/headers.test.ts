import { describe, expect, it } from 'vitest';
import { forwardedRequestHeaders, forwardedResponseHeaders } from './headers.ts';

describe('forwarded headers', () => {
  it('of a request exclude those of the connection and those that claim an identity', () => {
    const kept = {
      accept: ['application/json'],
      'accept-encoding': ['gzip'],
      'user-agent': ['kubectl/v1.32'],
      'impersonate-group': ['a', 'b'],
      'sec-websocket-protocol': ['v5.channel.k8s.io'],
    };
    const dropped = {
      authorization: ['Bearer x'],
      connection: ['keep-alive, X-Mine'],
      'x-mine': ['1'],
      'keep-alive': ['timeout=5'],
      host: ['169.254.2.1'],
      te: ['trailers'],
      'transfer-encoding': ['chunked'],
      upgrade: ['SPDY/3.1'],
      expect: ['100-continue'],
      'content-length': ['5'],
      'x-forwarded-for': ['10.0.0.1'],
      'x-remote-user': ['admin'],
    };
    expect(forwardedRequestHeaders({ ...kept, ...dropped })).toEqual(kept);
  });

  it('of a response exclude those of the connection', () => {
    const kept = {
      'content-type': 'application/json',
      warning: ['299 - "a"', '299 - "b"'],
      'content-length': '2',
    };
    const dropped = { connection: 'close', 'transfer-encoding': 'chunked' };
    expect(forwardedResponseHeaders({ ...kept, ...dropped })).toEqual(kept);
  });
});
