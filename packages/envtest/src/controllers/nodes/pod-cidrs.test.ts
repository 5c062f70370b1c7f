import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PodCidrs } from './pod-cidrs.ts';

describe('PodCidrs', () => {
  it('skips the first block and does not reuse a block immediately', () => {
    const cidrs = new PodCidrs('127.64.0.0/16');
    expect(cidrs.allocate('a')).toBe('127.64.1.0/24');
    expect(cidrs.allocate('b')).toBe('127.64.2.0/24');
    cidrs.release('a');
    expect(cidrs.allocate('c')).toBe('127.64.3.0/24');
    expect(cidrs.allocate('b')).toBe('127.64.2.0/24');
  });

  it('reuses released blocks later, and reports when none is left', () => {
    const cidrs = new PodCidrs('10.0.0.0/22');
    expect(['a', 'b', 'c', 'd'].map((name) => cidrs.allocate(name))).toEqual([
      '10.0.1.0/24',
      '10.0.2.0/24',
      '10.0.3.0/24',
      undefined,
    ]);
    cidrs.release('b');
    expect(cidrs.allocate('d')).toBe('10.0.2.0/24');
  });

  it('respects the blocks that nodes already have, inside the range or not', () => {
    const cidrs = new PodCidrs('10.0.0.0/22');
    cidrs.hold('old', '10.0.1.0/24');
    cidrs.hold('foreign', '192.168.0.0/24');
    cidrs.hold('odd', 'no cidr');
    expect(cidrs.allocate('a')).toBe('10.0.2.0/24');
  });

  it.each(['10.0.0.0', '10.0.0.0/25', '300.0.0.0/16', 'fd00::/48', ''])('rejects the range %j', (range) => {
    expect(() => new PodCidrs(range)).toThrow(/IPv4 range of \/24 or larger/);
  });

  it('never allocates a block to two nodes', () => {
    const step = fc.record({ name: fc.constantFrom(...'abcdefghij'), leaves: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const cidrs = new PodCidrs('10.0.0.0/21');
        const held = new Map<string, string>();
        for (const { name, leaves } of steps) {
          const cidr = leaves ? undefined : cidrs.allocate(name);
          if (leaves) cidrs.release(name);
          if (cidr === undefined) held.delete(name);
          else held.set(name, cidr);
          if (!leaves) expect(cidr === undefined).toBe(held.size === 7 && !held.has(name));
          expect(new Set(held.values()).size).toBe(held.size);
        }
      }),
    );
  });
});
