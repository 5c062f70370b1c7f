import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePattern, groupOf, OutOfSteps, runPattern } from './index.ts';

/** The whole match is group 1. */
const find = (pattern: string, text: string): string | undefined => {
  const slots = runPattern(compilePattern(`(${pattern})`, new Set([1])), text);
  return slots && groupOf(slots, 1, text);
};
const groups = (pattern: string, text: string, count: number): string[] | undefined => {
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  const slots = runPattern(compilePattern(pattern, new Set(numbers)), text);
  return slots && numbers.map((number) => groupOf(slots, number, text));
};

describe('a regular expression', () => {
  it.each([
    ['/caf\\xC3\\xA9', '/caf\u00c3\u00a9'],
    ['/(z|caf\\xC3\\xA9)', '/caf\u00c3\u00a9'],
    ['/\\xC9', '/\u00c9'],
    ['/\\xE9', '/\u00e9'],
  ])('%s matches bytes above 127', (pattern, text) => {
    const compiled = compilePattern(pattern, new Set(), '^');
    expect(runPattern(compiled, text)).toBeDefined();
    // Data planes get the prefix as text, in which such a character is not one byte.
    expect(compiled.prefix).toMatch(/^[\x20-\x7e]*$/);
  });

  it.each([
    ['^/api/(.*)', '/api/v1/x', ['v1/x']],
    ['^/something(/|$)(.*)', '/something', ['', '']],
    ['^/something(/|$)(.*)', '/something/new', ['/', 'new']],
    ['^/(v[12])/?(.*)$', '/V2/a', ['V2', 'a']],
    ['^/(a*?)(a*)$', '/aaa', ['', 'aaa']],
    ['^/(\\w+)\\.(png|jpe?g)$', '/x_1.JPG', ['x_1', 'JPG']],
    ['^/(?:a|b){2,3}(c)?', '/abab', ['']],
    ['^/(?<name>[^/]+)/([[:digit:]]{2})', '/x/12', ['x', '12']],
    ['^/a|/(b)$', '/x/b', ['b']],
    ['^/(?i)\\Qa', '/x', undefined],
  ])('%s on %s has the groups %j', (pattern, text, expected) => {
    if (expected === undefined) expect(() => compilePattern(pattern)).toThrow('not supported');
    else expect(groups(pattern, text, expected.length)).toEqual(expected);
  });

  it.each([
    ['/(?=a)', 'a look-ahead or look-behind, which is not supported at character 2'],
    ['/(?<!a)b', 'a look-ahead or look-behind, which is not supported at character 2'],
    ['/(a)\\1', 'a back-reference, which is not supported at character 5'],
    ['/(?>a)', 'an atomic group, which is not supported at character 2'],
    ['/a++', 'a possessive repetition, which is not supported at character 4'],
    ['/(a', 'a "(" without a ")" at character 4'],
    ['/a)', 'a ")" without a "(" at character 3'],
    ['/[a', 'a "[" without a "]" at character 2'],
    ['/[z-a]', 'a range that is not in order at character 6'],
    ['/**', 'a repetition of a repetition at character 4'],
    ['*', 'a repetition of nothing at character 1'],
    ['/\\p{L}', '\\p, which is not supported at character 2'],
    ['/ä', 'a character that must be percent-encoded in a path at character 2'],
    ['/[[:constructor:]]', '[:constructor:] is not a class'],
    ['/[[:^constructor:]]', '[:^constructor:] is not a class'],
    ['/a{101}', 'a repetition of more than 100 times at character 3'],
    ['/(((a{50}){50}){50})', 'more than 400 steps, because of its length or its repetitions'],
    [`/${'('.repeat(40)}${')'.repeat(40)}`, 'more than 30 groups inside of each other at character 33'],
    [`/${'('.repeat(20)}${'){90}'.repeat(20)}`, 'more than 400 steps'],
    ['x'.repeat(1001), 'more than 1000 characters'],
  ])('%s is refused: %s', (pattern, message) => {
    expect(() => compilePattern(pattern)).toThrow(message);
  });

  it('takes linear time where backtracking takes exponential time', () => {
    const text = `/${'a'.repeat(1_000)}!`;
    for (const pattern of ['^/(a+)+$', '^/(a|a)*$', '^/(a|aa)+$', '^/(.*)*x', '^/(a?){50}a{50}$'])
      expect(find(pattern, text)).toBe(undefined);
  });

  it('gives up when no steps are left', () => {
    const pattern = compilePattern('^/(.*a){20}!');
    const steps = { left: 10_000 };
    expect(() => runPattern(pattern, `/${'a'.repeat(10_000)}`, steps)).toThrow(OutOfSteps);
    expect(steps.left).toBeGreaterThan(-400);
    const simple = { left: 100 };
    runPattern(compilePattern('^/abc'), '/abcd', simple);
    // Each instruction is prepared, and reached once.
    expect(simple.left).toBe(100 - 2 * 6);
  });

  it('knows how a match begins', () => {
    expect(compilePattern('^/Api/v[12]')).toMatchObject({ anchored: true, prefix: '/api/v' });
    expect(compilePattern('^/a|^/b')).toMatchObject({ anchored: true, prefix: '' });
    expect(compilePattern('^/a|/b')).toMatchObject({ anchored: false, prefix: '' });
    expect(compilePattern('^/ab?')).toMatchObject({ anchored: true, prefix: '/a' });
  });

  const atom = fc.constantFrom(
    'a',
    'b',
    '/',
    '.',
    '[ab]',
    '[^a]',
    '\\d',
    '\\w',
    'B',
    '\\.',
    '\\b',
    '(?:ab|a)',
  );
  const times = fc.constantFrom('', '', '', '*', '+', '?', '*?', '+?', '??', '{2}', '{0,2}', '{1,}?');
  const part = fc.tuple(atom, times).map(([what, many]) => (what === '\\b' ? what : what + many));
  const simple = fc.array(part, { maxLength: 4 }).map((parts) => parts.join(''));
  const anyPattern = fc
    .record({
      start: fc.constantFrom('', '^'),
      parts: fc.array(simple, { minLength: 1, maxLength: 3 }),
      end: fc.constantFrom('', '$'),
    })
    .map(
      ({ start, parts, end }) => `${start}${parts.map((each) => `(${each})`).join('|')}(${parts[0]})${end}`,
    );
  const anyText = fc
    .array(fc.constantFrom('a', 'b', 'A', '/', '1', '.'), { maxLength: 8 })
    .map((all) => all.join(''));

  it('finds what backtracking finds', () => {
    fc.assert(
      fc.property(anyPattern, anyText, (pattern, text) => {
        const [whole, ...rest] = new RegExp(`(?:${pattern})`, 'i').exec(text) ?? [];
        const count = rest.length;
        const expected = whole === undefined ? undefined : rest.map((each) => each ?? '');
        expect({ pattern, text, found: groups(pattern, text, count || 4) }).toEqual({
          pattern,
          text,
          found: whole === undefined ? undefined : expected,
        });
      }),
      { numRuns: 3_000 },
    );
  });
});
