import fc from 'fast-check';
import { expect, it } from 'vitest';
import { contains, octetsOf, readNetwork } from '../../ingress/policy/networks.ts';
import { runLua } from './testing/run-lua.ts';

const SCRIPT = `
local networks = require "tidegate.networks"
local results = {}
for i, case in ipairs(input) do
  local families = networks.prepare(case.networks)
  results[i] = families ~= nil and networks.has(families, networks.address(string.char(unpack(case.binary))))
end
return results
`;

/** Few different values, so that addresses are often in networks. */
const octet = fc.constantFrom(0, 1, 127, 128, 255);
const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'));
const ipv6 = fc
  .array(fc.constantFrom('0', '1', '8000', 'ffff'), { minLength: 8, maxLength: 8 })
  .map((groups) => groups.join(':'));
const address = fc.oneof(
  ipv4,
  ipv6,
  ipv4.map((each) => `::ffff:${each}`),
);
const network = fc.oneof(
  fc.tuple(ipv4, fc.integer({ min: 0, max: 32 })).map(([at, bits]) => `${at}/${bits}`),
  fc.tuple(ipv6, fc.integer({ min: 0, max: 128 })).map(([at, bits]) => `${at}/${bits}`),
);
const MAPPED = [...Array<number>(10).fill(0), 255, 255];

it('networks.lua agrees with the reference', async () => {
  const cases = fc.sample(fc.tuple(fc.array(network, { maxLength: 4 }), address), {
    seed: 5,
    numRuns: 2_000,
  });
  const inputs = cases.map(([list, client]) => {
    const octets = octetsOf(client)!;
    const binary = client.startsWith('::ffff:') ? [...MAPPED, ...octets] : octets;
    return { networks: list.map((each) => readNetwork(each)!), binary, octets };
  });
  const expected = inputs.map(({ networks, octets }) => networks.some((each) => contains(each, octets)));
  expect(expected.filter((is) => is).length).toBeGreaterThan(100);
  expect(await runLua(SCRIPT, inputs)).toEqual(expected);
});
