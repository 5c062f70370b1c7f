import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_JSON_DEPTH, measureJson, tooDeepAt } from './json-size.ts';

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

/** Aliases of YAML documents give such values: one list, many times. */
const shared = (levels: number): unknown => {
  let value: unknown = 'x';
  for (let i = 0; i < levels; i++) value = Array.from({ length: 9 }, () => value);
  return value;
};

describe('measureJson', () => {
  it('is about the length of the text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.stringify(value).replaceAll(/\\u[0-9a-f]{4}|\\./g, '?');
        const size = measureJson(value);
        expect(size).toBeGreaterThanOrEqual(Buffer.byteLength(plain));
        expect(size).toBeLessThanOrEqual(2 * Buffer.byteLength(JSON.stringify(value)) + 3);
      }),
    );
  });

  it('counts a value as often as it appears, and stops at the limit', () => {
    expect(measureJson(shared(3))).toBeTypeOf('number');
    expect(measureJson(shared(40))).toBe('too large');
  });

  it('stops at the depth limit, also in a value that contains itself', () => {
    expect(measureJson(nested(MAX_JSON_DEPTH))).toBeTypeOf('number');
    expect(measureJson(nested(MAX_JSON_DEPTH + 1))).toBe('too deep');
    expect(measureJson(nested(100_000))).toBe('too deep');
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(measureJson(cycle)).toBe('too deep');
  });
});

describe('tooDeepAt', () => {
  it('finds the first bracket that is too deep', () => {
    expect(tooDeepAt('[[[]]]', 3)).toBe(-1);
    expect(tooDeepAt('[[[[]]]]', 3)).toBe(3);
    expect(tooDeepAt('{"a":{"b":{"c":{}}}}', 3)).toBe(15);
    expect(tooDeepAt('['.repeat(1_000_000))).toBe(MAX_JSON_DEPTH);
  });

  it('ignores brackets in strings, and does not depend on valid JSON', () => {
    expect(tooDeepAt('["[[[[", "\\"[[[[", "\\\\"]', 1)).toBe(-1);
    expect(tooDeepAt('["\\\\", [[', 2)).toBe(8);
    expect(tooDeepAt('"[[[[[[[[', 1)).toBe(-1);
    expect(tooDeepAt(`"${'\\"'.repeat(100_000)}`, 1)).toBe(-1);
  });
});
