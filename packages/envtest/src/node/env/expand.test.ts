import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expand } from './expand.ts';

describe('expanding variables', () => {
  test.each([
    ['$(A)-$(B)', 'one-two'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$one'],
    ['$$$$(A)', '$$(A)'],
    ['$(MISSING)', '$(MISSING)'],
    ['$A', '$A'],
    ['$(A', '$(A'],
    ['$()', '$()'],
    ['$', '$'],
    ['$(toString)', '$(toString)'],
  ])('%s', (text, expected) => {
    expect(expand(text, { A: 'one', B: 'two' })).toBe(expected);
  });

  test('does not expand values again', () => {
    expect(expand('$(A)', { A: '$(B)', B: 'x' })).toBe('$(B)');
  });

  test('restores a text whose dollar signs are doubled', () => {
    fc.assert(fc.property(fc.string(), (text) => expand(text.replaceAll('$', '$$$$'), {}) === text));
  });
});
