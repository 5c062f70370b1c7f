import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unifiedDiff } from './unified-diff.ts';

const diff = (before: string, after: string): string =>
  unifiedDiff({ name: 'a', text: before }, { name: 'b', text: after });
const letters = (text: string): string => [...text].map((letter) => `${letter}\n`).join('');

/** Applies a diff to the text by its line numbers only. */
function patched(before: string, difference: string): string {
  const old = before.split('\n').slice(0, -1);
  const lines: string[] = [];
  let next = 0;
  for (const line of difference.split('\n').slice(2, -1)) {
    const [, start, length = '1'] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? [];
    if (start !== undefined) {
      const first = length === '0' ? Number(start) : Number(start) - 1;
      lines.push(...old.slice(next, first));
      next = first;
    } else if (line.startsWith('+')) lines.push(line.slice(1));
    else {
      expect(old[next++]).toBe(line.slice(1));
      if (line.startsWith(' ')) lines.push(line.slice(1));
    }
  }
  return [...lines, ...old.slice(next)].map((line) => `${line}\n`).join('');
}

describe('unifiedDiff', () => {
  it('returns nothing for equal texts', () => {
    expect(diff('a\n', 'a\n')).toBe('');
    expect(diff('', '')).toBe('');
  });

  it('shows three lines of context, and separates distant changes', () => {
    expect(diff(letters('abcdefghijklmnop'), letters('abcdXfghijklmnoY'))).toBe(
      [
        '--- a\n+++ b\n',
        '@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n',
        '@@ -13,4 +13,4 @@\n m\n n\n o\n-p\n+Y\n',
      ].join(''),
    );
  });

  it('shows a new and a deleted text', () => {
    expect(diff('', 'a\nb\n')).toBe('--- a\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+b\n');
    expect(diff('a\nb\n', '')).toBe('--- a\n+++ b\n@@ -1,2 +0,0 @@\n-a\n-b\n');
  });

  it('compares large texts without quadratic memory', () => {
    const lines = Array.from({ length: 50_000 }, (_, index) => `line ${index}\n`);
    const changed = lines.with(25_000, 'changed\n').concat('last\n');
    expect(diff(lines.join(''), changed.join(''))).toContain('-line 25000\n+changed\n');
  });

  it('turns the first text into the second', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 30 })
      .map((lines) => letters(lines.join('')));
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(patched(before, diff(before, after))).toBe(after);
      }),
    );
  });
});
