import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PlacedRouter, Placement, type PlanInput, type PlannedRouter } from './placement.ts';

const router = (name: string, hosts: string[], more: Partial<PlacedRouter> = {}): PlacedRouter => ({
  name,
  version: '1',
  hosts,
  leaving: [],
  serving: true,
  deleting: false,
  ...more,
});

const sizeOf = (rules: number) => ({ hosts: 1, rules, certificates: 1, upstreams: 1, bytes: 10 });

/** A placement with hosts that are written as `name:rules`, and Ingresses with several hosts. */
function placementOf(hosts: string[], ingresses: string[][] = []): Placement {
  const placement = new Placement();
  for (const text of hosts) placement.put(text.split(':')[0]!, sizeOf(Number(text.split(':')[1] ?? 1)));
  for (const [index, tied] of ingresses.entries()) placement.groups.tie(`shop/${index}`, tied);
  return placement;
}

const compareAge = (a: string, b: string): number => (a < b ? -1 : Number(a !== b));

/** New routers are named r1, r2 and so on. */
const inputOf = (routers: PlacedRouter[] = [], more: Partial<PlanInput> = {}): PlanInput => {
  let made = routers.length;
  return {
    routers,
    limits: { maxHosts: 2 },
    rulesForAll: 0,
    drainMs: 0,
    now: 0,
    compareAge,
    newName: () => `r${++made}`,
    ...more,
  };
};

/** All routers after the plan, `r1: a (b)`: a stays, b is leaving. */
function inText(routers: readonly PlacedRouter[], planned: readonly PlannedRouter[]): string[] {
  const all = new Map<string, PlannedRouter>(routers.map((each) => [each.name, each]));
  for (const each of planned) all.set(each.name, each);
  return [...all.values()].map(
    ({ name, hosts, leaving }) =>
      `${name}: ${hosts.map((host) => (leaving.includes(host) ? `(${host})` : host)).join(' ')}`,
  );
}

const planned = (
  hosts: string[],
  routers: PlacedRouter[] = [],
  more: Partial<PlanInput> = {},
  ingresses: string[][] = [],
): string[] => inText(routers, placementOf(hosts, ingresses).plan(inputOf(routers, more)).routers);

describe('Placement', () => {
  test('creates a router for the first host, and another router when it is full', () => {
    expect(planned([])).toEqual([]);
    expect(planned(['a', 'b', 'c'])).toEqual(['r1: a b', 'r2: c']);
  });

  test('keeps placed hosts where they are and puts new hosts on routers with room', () => {
    const routers = [router('r1', ['z']), router('r2', ['a', 'c'])];
    expect(planned(['a', 'b', 'c', 'd', 'z'], routers)).toEqual(['r1: b z', 'r2: a c', 'r3: d']);
  });

  test('removes an empty router, but keeps one for rules for all hosts', () => {
    const plan = placementOf(['a']).plan(inputOf([router('r1', ['b']), router('r2', ['a'])]));
    expect(plan).toMatchObject({ routers: [], remove: ['r1'] });
    expect(planned([], [], { rulesForAll: 2 })).toEqual(['r1: ']);
    const empty = [router('r1', []), router('r2', [])];
    expect(placementOf([]).plan(inputOf(empty, { rulesForAll: 2 })).remove).toEqual(['r2']);
  });

  test('counts the rules for all hosts on each router', () => {
    const limits = { maxHosts: 10, maxRules: 5 };
    expect(planned(['a:2', 'b:2'], [], { limits, rulesForAll: 2 })).toEqual(['r1: a', 'r2: b']);
  });

  test.each(['maxCertificates', 'maxUpstreams', 'maxBytes'])('counts what %s limits', (parameter) => {
    const limits = { maxHosts: 10, [parameter]: parameter === 'maxBytes' ? 20 : 2 };
    expect(planned(['a', 'b', 'c'], [], { limits })).toEqual(['r1: a b', 'r2: c']);
  });

  test('places the hosts of an Ingress together', () => {
    const limits = { maxHosts: 3 };
    expect(planned(['a', 'b', 'c', 'd'], [], { limits }, [['a'], ['b', 'd'], ['c', 'd']])).toEqual([
      'r1: a',
      'r2: b c d',
    ]);
  });

  test('places hosts with the wildcard above them', () => {
    const limits = { maxHosts: 3 };
    expect(planned(['*.sh', 'a.sh', 'b.io', 'z.sh'], [], { limits })).toEqual([
      'r1: *.sh a.sh z.sh',
      'r2: b.io',
    ]);
  });

  test('refuses hosts that need more than any router has, and says the limit', () => {
    const placement = placementOf(['a', 'b', 'c', 'd:9'], [['a', 'b', 'c']]);
    const plan = placement.plan(inputOf([], { limits: { maxHosts: 2, maxRules: 5 } }));
    expect(plan.routers).toEqual([]);
    expect([...placement.refused.keys()]).toEqual(['a', 'b', 'c', 'd']);
    expect(placement.refused.get('a')).toContain(
      'one router with 3 hosts, but a router of this class has at most 2',
    );
    expect(placement.refused.get('d')).toContain(
      '9 rules, but a router of this class has at most 5 (maxRules)',
    );
    placement.plan(inputOf([], { limits: { maxHosts: 4, maxRules: 20 } }));
    expect(placement.refused.size).toBe(0);
  });

  test('leaves hosts that are served where they are when a new host makes them too many', () => {
    const routers = [router('r1', ['a', 'b'])];
    const placement = placementOf(['a', 'b', 'c'], [['a', 'b', 'c']]);
    expect(placement.plan(inputOf(routers)).routers).toEqual([]);
    expect([...placement.refused.keys()]).toEqual(['c']);
  });

  test('moves hosts to one router when a new Ingress ties them together', () => {
    const routers = [router('r1', ['a']), router('r2', ['b', 'c'])];
    expect(planned(['a', 'b', 'c'], routers, { limits: { maxHosts: 3 } }, [['a', 'b']])).toEqual([
      'r1: a b',
      'r2: (b) c',
    ]);
  });

  test('keeps a moving host on its old router until the drain time of its new router is over', () => {
    const limits = { maxHosts: 10, maxRules: 5 };
    const placement = placementOf(['a:2', 'b:4', 'c:1']);
    const before = [router('r1', ['a', 'b', 'c'])];
    const more = { limits, drainMs: 100 };
    expect(inText(before, placement.plan(inputOf(before, more)).routers)).toEqual(['r1: (a) b c', 'r2: a']);
    const after = (serving: boolean): PlacedRouter[] => [
      router('r1', ['a', 'b', 'c'], { version: '2', leaving: ['a'] }),
      router('r2', ['a'], { serving }),
    ];
    const at = (now: number, serving = true) => placement.plan(inputOf(after(serving), { ...more, now }));
    expect(at(10, false)).toMatchObject({ routers: [], wakeAt: undefined });
    expect(at(20)).toMatchObject({ routers: [], wakeAt: 120 });
    expect(at(119, false)).toMatchObject({ routers: [], wakeAt: 120 });
    expect(at(130, false).routers).toEqual([]);
    expect(at(130).routers).toEqual([{ name: 'r1', hosts: ['b', 'c'], leaving: [] }]);
  });

  test('cancels a move whose target router no longer exists', () => {
    expect(planned(['a', 'b'], [router('r1', ['a', 'b'], { leaving: ['a'] })])).toEqual(['r1: a b']);
  });

  test('moves hosts away from a router that is being deleted, which drains until then', () => {
    const placement = placementOf(['a', 'b']);
    const deleted = router('r1', ['a'], { deleting: true });
    const plan = placement.plan(inputOf([deleted, router('r2', ['b'])]));
    expect(plan).toMatchObject({ routers: [{ name: 'r2', hosts: ['a', 'b'] }], remove: [] });
    expect(placement.isDraining('r1')).toBe(true);
    placement.plan(inputOf([deleted, router('r2', ['a', 'b'], { version: '2' })]));
    expect(placement.isDraining('r1')).toBe(false);
  });

  test('moves the youngest hosts when the limit shrinks', () => {
    expect(planned(['a', 'b', 'c'], [router('r1', ['a', 'b', 'c'])], { limits: { maxHosts: 2 } })).toEqual([
      'r1: a b (c)',
      'r2: c',
    ]);
  });
});

test('an Ingress that changes its hosts leaves one group and joins another', () => {
  const placement = placementOf(['d', '*.y', 'a.y', 'c']);
  placement.groups.tie('shop/0', ['a.y', 'z']);
  placement.groups.tie('shop/1', ['d', 'c']);
  placement.groups.tie('shop/0', ['*.y', 'c']);
  placement.groups.tie('shop/1', []);
  const groupOf = (host: string): string[] => [...(placement.groups.get(host)?.hosts ?? [])].sort();
  expect([groupOf('c'), groupOf('d')]).toEqual([['*.y', 'a.y', 'c'], ['d']]);
  const plan = placement.plan(inputOf([], { limits: { maxHosts: 3 } }));
  expect(plan.routers.map(({ hosts }) => hosts)).toEqual([['*.y', 'a.y', 'c'], ['d']]);
});

describe('Placement with random changes', () => {
  const names = ['a.x', 'b.x', 'c.x', '*.x', 'a.y', '*.y', 'd', 'e', 'f'];
  const changes = fc.array(
    fc.record({
      hosts: fc.dictionary(fc.constantFrom(...names), fc.integer({ min: 1, max: 4 }), {
        noNullPrototype: true,
      }),
      ingresses: fc.array(fc.uniqueArray(fc.constantFrom(...names), { minLength: 2, maxLength: 3 }), {
        maxLength: 2,
      }),
      maxHosts: fc.integer({ min: 1, max: 5 }),
      maxRules: fc.integer({ min: 3, max: 12 }),
      rulesForAll: fc.integer({ min: 0, max: 1 }),
      serving: fc.boolean(),
      deleted: fc.option(fc.nat(3), { nil: undefined }),
      restart: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  );

  test('loses no host, tears no group apart, and ends within the limits', () => {
    fc.assert(
      fc.property(changes, (steps) => {
        let placement = new Placement();
        let routers: PlacedRouter[] = [];
        let made = 0;
        let version = 0;
        let now = 0;
        for (const {
          hosts,
          ingresses,
          maxHosts,
          maxRules,
          rulesForAll,
          serving,
          deleted,
          restart,
        } of steps) {
          if (restart) placement = new Placement();
          for (const host of [...placement.groups.hosts()]) if (!(host in hosts)) placement.remove(host);
          for (const [host, rules] of Object.entries(hosts)) placement.put(host, sizeOf(rules));
          for (const index of [0, 1]) placement.groups.tie(`shop/${index}`, ingresses[index] ?? []);
          routers = routers.map((each, index) => ({ ...each, deleting: index === deleted }));
          for (let turn = 0; turn < 4; turn++) {
            now += 10;
            const plan = placement.plan(
              inputOf(
                routers.map((each) => ({ ...each, serving })),
                { limits: { maxHosts, maxRules }, rulesForAll, now, drainMs: 5, newName: () => `r${++made}` },
              ),
            );
            const next = new Map(routers.map((each) => [each.name, each]));
            for (const each of plan.routers) {
              const written = router(each.name, [...each.hosts], {
                leaving: [...each.leaving],
                version: `${++version}`,
              });
              next.set(each.name, written);
              placement.wrote(each.name, written.version);
            }
            for (const name of plan.remove) next.delete(name);
            routers = [...next.values()].filter(
              ({ name, deleting }) => !deleting || placement.isDraining(name),
            );
            const homes = (host: string): string[] =>
              routers
                .filter((each) => !each.deleting && each.hosts.includes(host) && !each.leaving.includes(host))
                .map(({ name }) => name);
            for (const host of Object.keys(hosts))
              expect(homes(host)).toHaveLength(placement.refused.has(host) ? 0 : 1);
            for (const host of Object.keys(hosts)) {
              const group = [...(placement.groups.get(host)?.hosts ?? [])];
              const rules = group.reduce((sum, each) => sum + (hosts[each] ?? 0), rulesForAll);
              const isTooLarge = group.length > maxHosts || rules > maxRules;
              if (!isTooLarge) expect(new Set(group.flatMap(homes)).size).toBe(1);
              expect(placement.refused.has(host) && !isTooLarge).toBe(false);
            }
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
