import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PlacedRouter, type PlacementInput, type PlannedRouter, planPlacement } from './plan.ts';

const router = (name: string, hosts: string[], more: Partial<PlacedRouter> = {}): PlacedRouter => ({
  name,
  hosts,
  leaving: [],
  serving: true,
  deleting: false,
  ...more,
});

/** Hosts as `name:rules`. */
function plan(
  hosts: string[],
  routers: PlacedRouter[] = [],
  more: Partial<Omit<PlacementInput, 'hosts' | 'routers'>> = {},
) {
  let made = routers.length;
  return planPlacement({
    hosts: new Map(hosts.map((text) => [text.split(':')[0]!, Number(text.split(':')[1] ?? 1)])),
    rulesForAll: 0,
    capacity: { maxHosts: 2 },
    routers,
    newName: () => `r${++made}`,
    ...more,
  });
}

const inText = (routers: readonly PlannedRouter[]): string[] =>
  routers.map(
    ({ name, hosts, leaving }) =>
      `${name}: ${hosts.map((host) => (leaving.includes(host) ? `(${host})` : host)).join(' ')}`,
  );

describe('hosts and routers', () => {
  test('no host, no router', () => {
    expect(plan([])).toEqual({ routers: [], remove: [] });
  });

  test('the first host brings a router about; a full one gets a sibling', () => {
    expect(inText(plan(['a', 'b', 'c']).routers)).toEqual(['r1: a b', 'r2: c']);
  });

  test('what was placed stays, and new hosts fill what is free', () => {
    const routers = [router('r1', ['z']), router('r2', ['a', 'c'])];
    expect(inText(plan(['a', 'b', 'c', 'd', 'z'], routers).routers)).toEqual(['r1: b z', 'r2: a c', 'r3: d']);
  });

  test('an empty router goes', () => {
    const result = plan(['a'], [router('r1', ['b']), router('r2', ['a'])]);
    expect(inText(result.routers)).toEqual(['r2: a']);
    expect(result.remove).toEqual(['r1']);
  });

  test('rules for all hosts need one router, and count on each', () => {
    expect(inText(plan([], [], { rulesForAll: 2 }).routers)).toEqual(['r1: ']);
    expect(plan([], [router('r1', []), router('r2', [])], { rulesForAll: 2 }).remove).toEqual(['r2']);
    const capacity = { maxHosts: 10, maxRules: 5 };
    expect(inText(plan(['a:2', 'b:2'], [], { capacity, rulesForAll: 2 }).routers)).toEqual([
      'r1: a',
      'r2: b',
    ]);
  });

  test('a host larger than any router has one of its own', () => {
    const capacity = { maxHosts: 10, maxRules: 5 };
    expect(inText(plan(['a:9', 'b', 'c:9'], [], { capacity }).routers)).toEqual(['r1: a', 'r2: b', 'r3: c']);
  });

  test('what grew too large moves: first it is there too, and goes when that is served', () => {
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

  test('a move whose goal is gone is called off', () => {
    const routers = [router('r1', ['a', 'b'], { leaving: ['a'] })];
    expect(inText(plan(['a', 'b'], routers).routers)).toEqual(['r1: a b']);
  });

  test('a router on its way out is given nothing, and what it had goes elsewhere', () => {
    const result = plan(['a', 'b'], [router('r1', ['a'], { deleting: true }), router('r2', ['b'])]);
    expect(inText(result.routers)).toEqual(['r2: a b']);
    expect(result.remove).toEqual([]);
  });
});

describe('whatever happens', () => {
  const changes = fc.array(
    fc.record({
      hosts: fc.dictionary(fc.constantFrom(...'abcdefghij'), fc.integer({ min: 1, max: 6 }), {
        noNullPrototype: true,
      }),
      maxHosts: fc.integer({ min: 1, max: 4 }),
      maxRules: fc.integer({ min: 3, max: 9 }),
      rulesForAll: fc.integer({ min: 0, max: 2 }),
      serving: fc.boolean(),
      /** Which router somebody deletes, if there are so many. */
      deleted: fc.option(fc.nat(5), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 8 },
  );

  test('no host is lost, none moves without need, and in the end each has one router that can carry it', () => {
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
            const { routers: planned } = planPlacement({ ...input, routers });
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
            // A move is called off when its target was deleted: the host stays, and may be one too many.
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
