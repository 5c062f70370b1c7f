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

  test('stops when variables that contain each other grow without end', () => {
    const variables: Record<string, string> = { A0: 'xxxxxxxxxx' };
    const grow = (): void => {
      for (let i = 1; i < 40; i++) variables[`A${i}`] = expand(`$(A${i - 1})$(A${i - 1})`, variables);
    };
    expect(grow).toThrow('has more than 128 KiB after $(A13) is replaced');
  });

  test('restores a text whose dollar signs are doubled', () => {
    fc.assert(fc.property(fc.string(), (text) => expand(text.replaceAll('$', '$$$$'), {}) === text));
  });
});
