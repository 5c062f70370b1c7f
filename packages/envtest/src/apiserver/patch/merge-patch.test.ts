import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyMergePatch } from './merge-patch.ts';

describe('applyMergePatch', () => {
  /** The examples of RFC 7386, appendix A, that have objects on both sides. */
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j + %j = %j', (target, patch, expected) => {
    expect(applyMergePatch<object>(target, patch)).toEqual(expected);
  });

  it('is idempotent and changes neither input', () => {
    const map = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(map, map, (target, patch) => {
        const [targetBefore, patchBefore] = [JSON.stringify(target), JSON.stringify(patch)];
        const once = applyMergePatch(target, patch);
        expect(applyMergePatch(once, patch)).toEqual(once);
        expect([JSON.stringify(target), JSON.stringify(patch)]).toEqual([targetBefore, patchBefore]);
      }),
    );
  });
});
