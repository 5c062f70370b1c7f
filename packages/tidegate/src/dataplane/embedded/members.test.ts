import { describe, expect, test } from 'vitest';
import type { Upstream } from '../../ingress/model.ts';
import { type Member, Members } from './members.ts';

const upstream = (ports: number[], balance: Upstream['balance'] = 'roundRobin'): Upstream => ({
  ...{ id: 'shop_web_80', namespace: 'shop', service: 'web', protocol: 'http', balance },
  endpoints: ports.map((port) => ({ address: '10.0.0.1', port })),
});

const NOW = 1_000_000;
const NONE: ReadonlySet<Member> = new Set();
const portsOf = (members: Members, times: number): (number | undefined)[] =>
  Array.from({ length: times }, () => members.pick(NONE, NOW)?.endpoint.port);

describe('choosing an endpoint', () => {
  test('picks endpoints in turn', () => {
    expect(portsOf(new Members(upstream([1, 2, 3])), 7)).toEqual([1, 2, 3, 1, 2, 3, 1]);
  });

  test('never picks an endpoint twice for one request', () => {
    const members = new Members(upstream([1, 2]));
    const tried = new Set<Member>();
    for (const port of [1, 2]) {
      const member = members.pick(tried, NOW)!;
      expect(member.endpoint.port).toBe(port);
      tried.add(member);
    }
    expect(members.pick(tried, NOW)).toBeUndefined();
  });

  test('skips a failed endpoint for a while, unless no other is left', () => {
    const members = new Members(upstream([1, 2]));
    members.pick(NONE, NOW)!.failed(NOW);
    expect(portsOf(members, 3)).toEqual([2, 2, 2]);
    members.pick(NONE, NOW)!.failed(NOW);
    expect(new Set(portsOf(members, 4))).toEqual(new Set([1, 2]));
    const later = Array.from({ length: 4 }, () => members.pick(NONE, NOW + 60_000)!);
    expect(new Set(later.map(({ endpoint }) => endpoint.port))).toEqual(new Set([1, 2]));
  });

  test('doubles the back-off with each failure, until an answer resets it', () => {
    const [member] = new Members(upstream([1])).all();
    const seconds = (now: number): number => {
      member!.failed(now);
      member!.failed(now);
      return (member!.downUntil - now) / 1000;
    };
    expect([0, 1, 2, 3, 4, 5].map((i) => seconds(NOW + i * 20_000))).toEqual([1, 2, 4, 8, 10, 10]);
    member!.answered();
    expect(seconds(NOW)).toBe(1);
  });

  test('uses an endpoint again as soon as it answers', () => {
    const members = new Members(upstream([1, 2]));
    const first = members.pick(NONE, NOW)!;
    first.failed(NOW);
    first.answered();
    expect(new Set(portsOf(members, 4))).toEqual(new Set([1, 2]));
  });

  test('picks the endpoint with the fewest requests', () => {
    const members = new Members(upstream([1, 2, 3], 'leastConnections'));
    const counts = new Map<number, number>();
    for (let i = 0; i < 9; i++) {
      const member = members.pick(NONE, NOW)!;
      member.inFlight++;
      counts.set(member.endpoint.port, member.inFlight);
    }
    expect([...counts.values()]).toEqual([3, 3, 3]);
    members.all()[1]!.inFlight = 0;
    expect(portsOf(members, 2)).toEqual([2, 2]);
  });

  test('picks nothing from an empty upstream', () => {
    expect(new Members(upstream([])).pick(NONE, NOW)).toBeUndefined();
  });
});

describe('changing an upstream', () => {
  test('keeps the state of remaining endpoints and returns the removed ones', () => {
    const members = new Members(upstream([1, 2]));
    const [one, two] = members.all();
    one!.failed(NOW);
    expect(members.update(upstream([1, 3]))).toEqual([two]);
    expect(members.all()[0]).toBe(one);
    expect(portsOf(members, 2)).toEqual([3, 3]);
  });

  test('replaces all endpoints when the protocol changes', () => {
    const members = new Members(upstream([1]));
    const before = [...members.all()];
    expect(members.update({ ...upstream([1]), protocol: 'https' })).toEqual(before);
    expect(members.all()[0]).not.toBe(before[0]);
  });
});
