import { describe, expect, it } from 'vitest';
import { applyJsonPatch, type JsonPatchOperation } from './json-patch.ts';
import { JsonPatchError } from './json-patch-error.ts';
import type { JsonPatchDialect } from './json-patch-place.ts';

const failureOf = (document: unknown, operation: JsonPatchOperation, dialect?: JsonPatchDialect) => {
  try {
    applyJsonPatch(document, [operation], dialect);
  } catch (error) {
    if (error instanceof JsonPatchError) return `${error.side}: ${error.problem}`;
    throw error;
  }
  return undefined;
};

describe('applyJsonPatch', () => {
  it('applies every operation, in order', () => {
    const patch = [
      { op: 'test', path: '/a', value: { b: [1] } },
      { op: 'add', path: '/a/b/-', value: 2 },
      { op: 'copy', from: '/a/b', path: '/c' },
      { op: 'move', from: '/a/b/0', path: '/first' },
      { op: 'replace', path: '/c/0', value: { '~x/y': 1 } },
      { op: 'remove', path: '/c/0/~0x~1y' },
    ];
    const document = Object.freeze({ a: Object.freeze({ b: Object.freeze([1]) }) });
    expect(applyJsonPatch<unknown>(document, patch)).toEqual({ a: { b: [2] }, c: [{}, 2], first: 1 });
    expect(document).toEqual({ a: { b: [1] } });
  });

  it('reports the position of the operation that fails', () => {
    const patch = [
      { op: 'add', path: '/a', value: 1 },
      { op: 'remove', path: '/b' },
    ];
    expect(() => applyJsonPatch({}, patch)).toThrow(
      expect.objectContaining({ index: 1, problem: 'not found', side: 'path', pointer: '/b', step: 'b' }),
    );
  });

  it('can replace the whole document, but not remove it', () => {
    expect(applyJsonPatch<unknown>({ a: 1 }, [{ op: 'add', path: '', value: [1] }])).toEqual([1]);
    expect(failureOf({ a: 1 }, { op: 'remove', path: '' })).toBe('path: whole document');
    expect(failureOf({ a: 1 }, { op: 'move', from: '', path: '/b' })).toBe('from: whole document');
  });

  it.each<[JsonPatchOperation, string | undefined, string | undefined]>([
    [{ op: 'replace', path: '/x', value: 1 }, 'path: not found', undefined],
    [{ op: 'test', path: '/x', value: null }, 'path: not found', undefined],
    [{ op: 'add', path: '/x' }, 'path: no value', undefined],
    [{ op: 'remove', path: '/list/-1' }, 'path: not an index', undefined],
    [{ op: 'add', path: '/list/01', value: 1 }, 'path: not an index', undefined],
    [{ op: 'add', path: '/list/3', value: 1 }, 'path: index out of range', 'path: index out of range'],
    [{ op: 'add', path: '/list/2', value: 1 }, undefined, undefined],
    [{ op: 'add', path: '/x/y', value: 1 }, 'path: no parent', 'path: no parent'],
    [{ op: 'add', path: 'x', value: 1 }, 'path: not a pointer', 'path: no parent'],
    [{ op: 'copy', path: '/y' }, 'from: not a pointer', 'from: no parent'],
    [{ op: 'add', path: '', value: {} }, undefined, 'path: whole document'],
    [{ op: 'merge', path: '/list' }, 'path: unknown operation', 'path: unknown operation'],
  ])('%j: %s per RFC 6902, %s in Kubernetes', (operation, rfc6902, kubernetes) => {
    const document = { list: [1, 2] };
    expect([failureOf(document, operation), failureOf(document, operation, 'kubernetes')]).toEqual([
      rfc6902,
      kubernetes,
    ]);
  });

  describe('limits', () => {
    const problemOf = (document: unknown, patch: JsonPatchOperation[]): string | undefined => {
      try {
        applyJsonPatch(document, patch);
      } catch (error) {
        if (error instanceof JsonPatchError) return error.problem;
        throw error;
      }
      return undefined;
    };
    const copiesInto = (path: string, count: number): JsonPatchOperation[] =>
      Array.from({ length: count }, (_, i) => ({ op: 'copy', from: path, path: `${path}/k${i}` }));

    it('refuses copies that double the document until it is huge', () => {
      expect(problemOf({ spec: { a: 'x'.repeat(1000) } }, copiesInto('/spec', 8))).toBeUndefined();
      expect(problemOf({ spec: { a: 'x'.repeat(1000) } }, copiesInto('/spec', 25))).toBe('copies too large');
      expect(problemOf({ spec: {} }, copiesInto('/spec', 10_000))).toBe('copies too large');
    });

    it('counts all copies of a patch together, up to 3 MiB', () => {
      const copies = (count: number): JsonPatchOperation[] =>
        Array.from({ length: count }, (_, i) => ({ op: 'copy', from: '/a', path: `/k${i}` }));
      expect(problemOf({ a: 'x'.repeat(500_000) }, copies(6))).toBeUndefined();
      expect(problemOf({ a: 'x'.repeat(500_000) }, copies(7))).toBe('copies too large');
    });

    it('refuses more than 10,000 operations', () => {
      const patch = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 }));
      expect(problemOf({ a: 1 }, patch)).toBe('too many operations');
      expect(problemOf({ a: 1 }, patch.slice(1))).toBeUndefined();
    });

    it('refuses a result that is deeper than any document', () => {
      const deep = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}{}${'}'.repeat(depth)}`);
      const below = '/a'.repeat(400);
      expect(problemOf(deep(400), [{ op: 'add', path: below, value: deep(10) }])).toBeUndefined();
      expect(problemOf(deep(400), [{ op: 'add', path: below, value: deep(400) }])).toBe('too deep');
      expect(problemOf(deep(400), [{ op: 'copy', from: '/a', path: `${below}/b` }])).toBe('too deep');
    });

    it('refuses insertions that shift a long list again and again', () => {
      const list = Array.from({ length: 100_000 }, (_, i) => i);
      const first = (op: string): JsonPatchOperation[] =>
        Array.from({ length: 9000 }, () => ({ op, path: '/list/0', value: 1 }));
      expect(problemOf({ list }, first('add'))).toBe('too many shifts');
      expect(problemOf({ list }, first('remove'))).toBe('too many shifts');
      expect(
        problemOf({ list: [] }, [{ op: 'add', path: '/list/-', value: 1 }, ...first('add')]),
      ).toBeUndefined();
    });
  });
});
