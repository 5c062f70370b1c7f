import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { combineGuards, type GuardLevel, isAllowed, readPolicies } from './index.ts';

const INGRESS = { namespace: 'shop', name: 'web' };

const level = (
  annotations: Record<string, string>,
  { overridable = [], without = [] }: { overridable?: string[]; without?: string[] } = {},
): GuardLevel => ({
  policies: readPolicies(new Map(Object.entries(annotations)), INGRESS),
  overridable: new Set(overridable),
  without: new Set(without),
});

const USERS = { 'auth-type': 'basic', 'auth-secret': 'users' };
const OTHERS = { 'auth-type': 'basic', 'auth-secret': 'others' };

describe('lists of addresses', () => {
  const network = fc
    .tuple(
      fc.constantFrom('10.0.0.0', '10.1.0.0', '10.1.2.0', '10.1.2.3', '192.0.2.1', '2001:db8::1'),
      fc.nat(32),
    )
    .map(([address, bits]) => `${address}/${bits}`);
  const lists = fc.record(
    {
      'allowlist-source-range': fc
        .array(network, { minLength: 1, maxLength: 3 })
        .map((each) => each.join(',')),
      'denylist-source-range': fc
        .array(network, { minLength: 1, maxLength: 3 })
        .map((each) => each.join(',')),
    },
    { requiredKeys: [] },
  );
  const clients = ['10.0.0.1', '10.1.0.1', '10.1.2.3', '192.0.2.1', '198.51.100.7', '2001:db8::1', 'fe80::1'];

  test('serve a client exactly if each level does', () => {
    fc.assert(
      fc.property(fc.array(lists, { maxLength: 4 }), (written) => {
        const levels = written.map((each) => level(each));
        const { sources } = combineGuards(levels).route;
        for (const client of clients) {
          const all = levels.every(
            ({ policies: { route } }) => !route?.sources || isAllowed(route.sources, client),
          );
          expect({ client, is: sources === undefined || isAllowed(sources, client) }).toEqual({
            client,
            is: all,
          });
        }
      }),
    );
  });

  test('serve no client if no address is in both', () => {
    const lists = ['10.0.0.0/8', '192.0.2.0/24'].map((list) => level({ 'allowlist-source-range': list }));
    const { sources } = combineGuards(lists).route;
    expect(['10.0.0.1', '192.0.2.1', '2001:db8::1'].map((client) => isAllowed(sources!, client))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

test('all rates apply, and only clients that all levels exempt are exempt', () => {
  const { limit } = combineGuards([
    level({ 'limit-rps': '10', 'limit-connections': '5', 'limit-allowlist': '10.0.0.0/8' }),
    level({ 'limit-rps': '20', 'limit-connections': '9', 'limit-allowlist': '10.1.0.0/16,192.0.2.1' }),
  ]).route;
  expect(limit).toEqual({
    requests: [
      { perSecond: 10, burst: 50 },
      { perSecond: 20, burst: 100 },
    ],
    connections: 5,
    exempt: [{ octets: [10, 1, 0, 0], bits: 16 }],
  });
});

describe('authentication of an outer level', () => {
  test('is a conflict with another one of an inner level', () => {
    const { conflicts, route } = combineGuards([level(USERS), level(OTHERS)]);
    expect(conflicts.map(({ guard }) => guard)).toEqual(['basicAuth']);
    expect(route.basic?.credentials).toBe('shop/users');
  });

  test('is replaced or removed only if the outer level allows it', () => {
    const outer = level(USERS, { overridable: ['basicAuth'] });
    expect(combineGuards([outer, level(OTHERS)])).toMatchObject({
      conflicts: [],
      route: { basic: { credentials: 'shop/others' } },
    });
    expect(combineGuards([outer, level({}, { without: ['basicAuth'] })]).route).toEqual({});
    const kept = combineGuards([level(USERS), level({}, { without: ['basicAuth'] })]);
    expect(kept.route.basic?.credentials).toBe('shop/users');
    expect(kept.kept.map(({ guard }) => guard)).toEqual(['basicAuth']);
  });

  test('stays required if a level between allows to override it', () => {
    const levels = [
      level(USERS),
      level(USERS, { overridable: ['basicAuth'] }),
      level({}, { without: ['basicAuth'] }),
    ];
    expect(combineGuards(levels).route.basic?.credentials).toBe('shop/users');
  });
});

describe('satisfy: any', () => {
  const LIST = { 'allowlist-source-range': '10.0.0.0/8' };

  test('applies if one level has all ways', () => {
    expect(combineGuards([level({ ...USERS, ...LIST, satisfy: 'any' })]).route.satisfyAny).toBe(true);
  });

  test('of an inner level does not weaken a list of an outer one', () => {
    const { route, conflicts } = combineGuards([level(LIST), level({ ...USERS, satisfy: 'any' })]);
    expect({ satisfyAny: route.satisfyAny, conflicts }).toEqual({ satisfyAny: undefined, conflicts: [] });
    const both = combineGuards([level(LIST), level({ ...USERS, ...LIST, satisfy: 'any' })]);
    expect(both.conflicts.map(({ guard }) => guard)).toEqual(['satisfy']);
  });

  test('of an outer level does not let clients around authentication of an inner one', () => {
    const levels = [
      level({ ...USERS, ...LIST, satisfy: 'any' }),
      level({ 'auth-url': 'http://auth.example.com' }),
    ];
    expect(combineGuards(levels).conflicts.map(({ guard }) => guard)).toEqual(['satisfy']);
  });
});

test('the strictest redirect to HTTPS applies', () => {
  const written: Record<string, string>[] = [
    { 'force-ssl-redirect': 'true' },
    { 'ssl-redirect': 'true' },
    { 'ssl-redirect': 'false' },
  ];
  const [always, conditional, never] = written.map((each) => level(each));
  expect(combineGuards([always!, never!]).secure).toBe('always');
  expect(combineGuards([conditional!, always!]).secure).toBe('always');
  expect(combineGuards([conditional!, never!]).secure).toBe('withCertificate');
});
