import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HostPlacementInput, type PlacedRouter, type PlannedRouter, planHostPlacement } from './plan.ts';

const router = (name: string, hosts: string[], more: Partial<PlacedRouter> = {}): PlacedRouter => ({
  name,
  hosts,
  leaving: [],
  serving: true,
  deleting: false,
  ...more,
});

/** Plans hosts that are written as `name:rules`. New routers are named r1, r2 and so on. */
function plan(
  hosts: string[],
  routers: PlacedRouter[] = [],
  more: Partial<Omit<HostPlacementInput, 'hosts' | 'routers'>> = {},
) {
  let made = routers.length;
  return planHostPlacement({
    hosts: new Map(hosts.map((text) => [text.split(':')[0]!, Number(text.split(':')[1] ?? 1)])),
    rulesForAll: 0,
    capacity: { maxHosts: 2 },
    routers,
    newName: () => `r${++made}`,
    ...more,
  });
}

/** `r1: a (b)`: a stays, b is leaving. */
const inText = (routers: readonly PlannedRouter[]): string[] =>
  routers.map(
    ({ name, hosts, leaving }) =>
      `${name}: ${hosts.map((host) => (leaving.includes(host) ? `(${host})` : host)).join(' ')}`,
  );

describe('planHostPlacement', () => {
  test('creates no router without hosts', () => {
    expect(plan([])).toEqual({ routers: [], remove: [] });
  });

  test('creates a router for the first host, and another router when it is full', () => {
    expect(inText(plan(['a', 'b', 'c']).routers)).toEqual(['r1: a b', 'r2: c']);
  });

  test('keeps placed hosts where they are and puts new hosts on routers with room', () => {
    const routers = [router('r1', ['z']), router('r2', ['a', 'c'])];
    expect(inText(plan(['a', 'b', 'c', 'd', 'z'], routers).routers)).toEqual(['r1: b z', 'r2: a c', 'r3: d']);
  });

  test('removes an empty router', () => {
    const result = plan(['a'], [router('r1', ['b']), router('r2', ['a'])]);
    expect(inText(result.routers)).toEqual(['r2: a']);
    expect(result.remove).toEqual(['r1']);
  });

  test('needs one router for rules for all hosts, and counts them on each router', () => {
    expect(inText(plan([], [], { rulesForAll: 2 }).routers)).toEqual(['r1: ']);
    expect(plan([], [router('r1', []), router('r2', [])], { rulesForAll: 2 }).remove).toEqual(['r2']);
    const capacity = { maxHosts: 10, maxRules: 5 };
    expect(inText(plan(['a:2', 'b:2'], [], { capacity, rulesForAll: 2 }).routers)).toEqual([
      'r1: a',
      'r2: b',
    ]);
  });

  test('gives a host with more rules than maxRules a router of its own', () => {
    const capacity = { maxHosts: 10, maxRules: 5 };
    expect(inText(plan(['a:9', 'b', 'c:9'], [], { capacity }).routers)).toEqual(['r1: a', 'r2: b', 'r3: c']);
  });

  test('keeps a moving host on its old router until the new router serves it', () => {
    const capacity = { maxHosts: 10, maxRules: 5 };
    const hosts = ['a:2', 'b:4', 'c:1'];
    const first = plan(hosts, [router('r1', ['a', 'b', 'c'])], { capacity });
    expect(inText(first.routers)).toEqual(['r1: (a) b c', 'r2: a']);
    const both = (serving: boolean): PlacedRouter[] => [
      router('r1', ['a', 'b', 'c'], { leaving: ['a'] }),
      router('r2', ['a'], { serving }),
    ];
    expect(inText(plan(hosts, both(false), { capacity }).routers)).toEqual(['r1: (a) b c', 'r2: a']);
    expect(inText(plan(hosts, both(true), { capacity }).routers)).toEqual(['r1: b c', 'r2: a']);
  });

  test('cancels a move whose target router no longer exists', () => {
    const routers = [router('r1', ['a', 'b'], { leaving: ['a'] })];
    expect(inText(plan(['a', 'b'], routers).routers)).toEqual(['r1: a b']);
  });

  test('moves hosts away from a router that is being deleted', () => {
    const result = plan(['a', 'b'], [router('r1', ['a'], { deleting: true }), router('r2', ['b'])]);
    expect(inText(result.routers)).toEqual(['r2: a b']);
    expect(result.remove).toEqual([]);
  });
});

describe('planHostPlacement with random changes', () => {
  const changes = fc.array(
    fc.record({
      hosts: fc.dictionary(fc.constantFrom(...'abcdefghij'), fc.integer({ min: 1, max: 6 }), {
        noNullPrototype: true,
      }),
      maxHosts: fc.integer({ min: 1, max: 4 }),
      maxRules: fc.integer({ min: 3, max: 9 }),
      rulesForAll: fc.integer({ min: 0, max: 2 }),
      serving: fc.boolean(),
      /** Index of a router that a user deletes, if there are that many. */
      deleted: fc.option(fc.nat(5), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 8 },
  );

  test('loses no host, moves no host without need, and ends with each host on one router with enough capacity', () => {
    fc.assert(
      fc.property(changes, (steps) => {
        let routers: PlacedRouter[] = [];
        let made = 0;
        for (const { hosts, maxHosts, maxRules, rulesForAll, serving, deleted } of steps) {
          routers = routers.map((each, index) => ({ ...each, serving, deleting: index === deleted }));
          const input = {
            hosts: new Map(Object.entries(hosts)),
            rulesForAll,
            capacity: { maxHosts, maxRules },
            newName: () => `r${++made}`,
          };
          const isOver = (names: readonly string[]): boolean => {
            const rules = names.reduce((sum, host) => sum + (hosts[host] ?? 0), rulesForAll);
            return names.length > 1 && (names.length > maxHosts || rules > maxRules);
          };
          const before = routers;
          const step = (): void => {
            const { routers: planned } = planHostPlacement({ ...input, routers });
            for (const host of input.hosts.keys())
              expect(
                planned.filter((each) => each.hosts.includes(host) && !each.leaving.includes(host)),
              ).toHaveLength(1);
            routers = planned.map((each) => ({ ...each, serving, deleting: false }));
          };
          step();
          for (const old of before.filter((each) => !each.deleting)) {
            const kept = old.hosts.filter((host) => input.hosts.has(host) && !old.leaving.includes(host));
            const twice = kept.some((host) =>
              before.some((each) => each !== old && each.hosts.includes(host)),
            );
            // A move is canceled when its target was deleted. The host stays, and can exceed the capacity then.
            const returned = old.leaving.filter(
              (host) =>
                input.hosts.has(host) &&
                !before.some(
                  (each) => !each.deleting && each.hosts.includes(host) && !each.leaving.includes(host),
                ),
            );
            const now = routers.find(({ name }) => name === old.name);
            if (!twice && !isOver([...kept, ...returned])) {
              for (const host of kept) {
                expect(now?.hosts).toContain(host);
                expect(now?.leaving).not.toContain(host);
              }
            }
          }
          for (let i = 0; i < 3; i++) step();
          for (const each of routers) {
            expect(isOver(each.hosts.filter((host) => !each.leaving.includes(host)))).toBe(false);
            if (serving) expect(each.leaving).toEqual([]);
          }
        }
      }),
    );
  });
});
