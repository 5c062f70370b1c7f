import { ApiError } from '@tidegate/serving';
import { describe, expect, it } from 'vitest';
import { applyJsonPatch } from './json-patch.ts';

// What the real server answers is recorded in ../apply/testdata/configmap-patches.out.yaml.

const codeOf = (run: () => unknown): number => {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return error.status.code;
    throw error;
  }
  return 200;
};

describe('applyJsonPatch', () => {
  it('shares what it does not touch and leaves its input alone', () => {
    const target = Object.freeze({ a: Object.freeze({ b: 1 }), c: Object.freeze([1, 2]) });
    const result = applyJsonPatch(target, [{ op: 'add', path: '/c/0', value: 0 }]);
    expect(result).toEqual({ a: { b: 1 }, c: [0, 1, 2] });
    expect(result.a).toBe(target.a);
  });

  it('does not let operations change the patch or each other', () => {
    const value = Object.freeze({ x: 1 });
    const patch = [
      { op: 'add', path: '/a', value },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/a/y', value: 2 },
      { op: 'add', path: '/b/z', value: 3 },
    ];
    expect(applyJsonPatch({}, patch)).toEqual({ a: { x: 1, y: 2 }, b: { x: 1, z: 3 } });
  });

  it('takes nothing of a patch that fails', () => {
    const target = { a: 1 };
    const patch = [
      { op: 'replace', path: '/a', value: 2 },
      { op: 'test', path: '/a', value: 1 },
    ];
    expect(codeOf(() => applyJsonPatch(target, patch))).toBe(422);
    expect(target).toEqual({ a: 1 });
  });

  it('tests and replaces the whole document, but cannot remove it', () => {
    expect(applyJsonPatch({ a: 1 }, [{ op: 'test', path: '', value: { a: 1 } }])).toEqual({ a: 1 });
    expect(applyJsonPatch({ a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }])).toEqual({ b: 2 });
    expect(codeOf(() => applyJsonPatch({ a: 1 }, [{ op: 'remove', path: '' }]))).toBe(422);
    expect(codeOf(() => applyJsonPatch({ a: 1 }, [{ op: 'replace', path: '', value: 1 }]))).toBe(422);
  });

  it('stops at 10,000 operations', () => {
    const patch = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 }));
    expect(() => applyJsonPatch({ a: 1 }, patch)).toThrow(
      'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    );
    expect(applyJsonPatch({ a: 1 }, patch.slice(1))).toEqual({ a: 1 });
  });

  it('refuses copies of more than 3 MiB with the 422 of the real server', () => {
    const copies = Array.from({ length: 25 }, (_, i) => ({ op: 'copy', from: '/data', path: `/data/k${i}` }));
    expect(codeOf(() => applyJsonPatch({ data: { a: 'x'.repeat(1000) } }, copies))).toBe(422);
  });

  it('cannot reach prototypes', () => {
    const result = applyJsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]);
    expect(Object.keys(result)).toEqual(['__proto__']);
    expect(codeOf(() => applyJsonPatch({}, [{ op: 'add', path: '/constructor/x', value: 1 }]))).toBe(422);
  });
});
