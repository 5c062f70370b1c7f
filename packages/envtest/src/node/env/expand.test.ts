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

  test('values are not expanded again', () => {
    expect(expand('$(A)', { A: '$(B)', B: 'x' })).toBe('$(B)');
  });

  test('a text with doubled dollars comes out as it was', () => {
    fc.assert(fc.property(fc.string(), (text) => expand(text.replaceAll('$', '$$$$'), {}) === text));
  });
});
