import { describe, expect, it } from 'vitest';
import { ownUpstream } from './own-upstream.ts';

const HUB = { bindAddress: '127.0.0.1', hubAddress: '169.254.2.1', httpPort: 10261, httpsPort: 10268 };

describe('a hub is its own API server', () => {
  it.each([
    'https://127.0.0.1:10268',
    'https://localhost:10268/',
    'https://169.254.2.1:10268',
    'http://127.0.0.1:10261',
  ])('at %s', (server) => {
    expect(ownUpstream(['https://10.0.0.1:6443', server], HUB)).toBe(server);
  });

  it('at an IPv6 address that is written in another way', () => {
    const hub = { ...HUB, bindAddress: '0:0:0:0:0:0:0:1' };
    expect(ownUpstream(['https://[::1]:10268'], hub)).toBe('https://[::1]:10268');
  });

  it('at every address if it listens on all of them', () => {
    const hub = { ...HUB, bindAddress: '0.0.0.0' };
    expect(ownUpstream(['https://192.0.2.7:10268'], hub)).toBe('https://192.0.2.7:10268');
  });
});

it.each(['https://127.0.0.1:6443', 'https://10.0.0.1:10268', 'https://api.example.com'])(
  'a hub is not its own API server at %s',
  (server) => {
    expect(ownUpstream([server], HUB)).toBeUndefined();
  },
);
