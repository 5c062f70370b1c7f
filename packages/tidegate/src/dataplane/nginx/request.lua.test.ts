import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestHost, requestPath, wildcardOf } from '../../ingress/match/index.ts';
import { runLua } from './testing/run-lua.ts';

const SCRIPT = `
  local request = require "tidegate.request"
  local result = {}
  for i, said in ipairs(input) do
    local host = request.host(said)
    result[i] = { host = host, wildcard = host and request.wildcard(host) or false, path = request.path(said) or false }
  end
  return result`;

/** Characters that are special to one of the two implementations, in random order. */
const pieces = (...all: string[]) =>
  fc
    .array(fc.oneof(fc.constantFrom(...all), fc.string({ maxLength: 2 })), { maxLength: 8 })
    .map((list) => list.join(''));
const hosts = pieces('a', 'B', '.', ':', '80', 'x-y', '_', '[', ']', '::1', '*', 'é', '.com', '0'.repeat(64));
const paths = pieces(
  '/',
  '.',
  '..',
  '%2e',
  '%2F',
  '%5C',
  '\\',
  ';',
  '%3b',
  '?',
  '#',
  'a',
  'f',
  'c',
  ' ',
  '\x7f',
  '\x01',
);

describe('request.lua', () => {
  it('agrees with the reference on hosts and paths', async () => {
    const said = [
      ...fc.sample(hosts, 1500),
      ...fc.sample(paths, 3000).map((path) => `/${path}`),
      ...['', 'a.b.', 'a.b..', 'a:', 'a:123456', '/a/..', '/a/%2e.;x', '/%5c.%2f', `${'a.'.repeat(127)}a`],
    ];
    const got = (await runLua(SCRIPT, said)) as unknown[];
    expect(got).toEqual(
      said.map((each) => {
        const host = requestHost(each);
        return {
          host: host ?? false,
          wildcard: (host !== undefined && wildcardOf(host)) || false,
          path: requestPath(each) ?? false,
        };
      }),
    );
  });
});
