import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  everyLabel,
  LabelMatcher,
  type LabelRequirement,
  matcherFromLabels,
  matcherFromSelector,
  noLabel,
  parseFieldSelector,
  parseLabelSelector,
} from './index.ts';

const NAME =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

describe('label selector text', () => {
  it.each([
    ['', ''],
    ['  ', ''],
    ['a', 'a'],
    ['!a', '!a'],
    ['b=2, a==1', 'a==1,b=2'],
    ['a=', 'a='],
    ['a= ,b', 'a=,b'],
    ['a!=b', 'a!=b'],
    ['a in (z,y)', 'a in (y,z)'],
    ['a in ()', 'a in ()'],
    ['x in (foo,,baz),y,z notin ()', 'x in (,baz,foo),y,z notin ()'],
    ['a in (in, notin)', 'a in (in,notin)'],
    ['in in (in)', 'in in (in)'],
    ['notin=in', 'notin=in'],
    ['a>1,b<-5', undefined],
    ['a>1,b<5', 'a>1,b<5'],
    ['k8s.io/a in (,)', 'k8s.io/a in ()'],
  ])('%j is parsed as %j', (text, formatted) => {
    if (formatted === undefined)
      expect(() => parseLabelSelector(text)).toThrow(/unable to parse requirement/);
    else expect(parseLabelSelector(text).toString()).toBe(formatted);
  });

  it.each([
    ['*bar=1', `unable to parse requirement: <nil>: Invalid value: "*bar": ${NAME}`],
    ['a=*b', `unable to parse requirement: values[0][a]: Invalid value: "*b": ${VALUE}`],
    ['a in (ok,-b)', `unable to parse requirement: values[0][a]: Invalid value: "-b": ${VALUE}`],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a=b,', "found '', expected: identifier after ','"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['a in', "unable to parse requirement: found '' expected: '('"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (b,', "unable to parse requirement: found '', expected: ',', or identifier"],
    ['a===b', "unable to parse requirement: found '=', expected: identifier"],
    [
      'a>x',
      `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    ['/a', 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'],
    [
      'a/b/c',
      `unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key ${NAME.replace('name part ', '')} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ],
    [
      `${'a'.repeat(64)}`,
      `unable to parse requirement: <nil>: Invalid value: "${'a'.repeat(64)}": name part must be no more than 63 bytes`,
    ],
  ])('%j is rejected with the message of apimachinery', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ message }));
  });

  it('never throws anything but SelectorError', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab!=(),<> in/-.') }), (text) => {
        try {
          const once = parseLabelSelector(text).toString();
          expect(parseLabelSelector(once).toString()).toBe(once);
        } catch (error) {
          expect((error as Error).name).toBe('SelectorError');
        }
      }),
    );
  });
});

const key = fc.constantFrom('a', 'b', 'example.com/c', 'in', 'notin');
const value = fc.constantFrom('', '1', '2', '10', 'x', 'in');
const number = fc.constantFrom('1', '2', '10');
const labels = fc.dictionary(key, value, { noNullPrototype: true });
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('=', '==', '!='), values: fc.tuple(value) }),
  fc.record({
    key,
    operator: fc.constantFrom('in', 'notin'),
    values: fc.uniqueArray(value, { minLength: 1 }),
  }),
  fc.record({ key, operator: fc.constantFrom('exists', '!'), values: fc.constant([]) }),
  fc.record({ key, operator: fc.constantFrom('gt', 'lt'), values: fc.tuple(number) }),
);

/** The meaning, implemented as simply as possible. */
function oracle(requirements: readonly LabelRequirement[], subject: Record<string, string>): boolean {
  const has = (r: LabelRequirement): boolean => Object.keys(subject).includes(r.key);
  const one = (r: LabelRequirement): boolean => r.values.some((v) => has(r) && subject[r.key] === v);
  const numeric = (r: LabelRequirement): boolean => has(r) && /^\d+$/.test(subject[r.key]!);
  return requirements.every((r) => {
    if (['=', '==', 'in'].includes(r.operator)) return one(r);
    if (['!=', 'notin'].includes(r.operator)) return !one(r);
    if (r.operator === 'exists') return has(r);
    if (r.operator === '!') return !has(r);
    if (r.operator === 'gt') return numeric(r) && Number(subject[r.key]) > Number(r.values[0]);
    return numeric(r) && Number(subject[r.key]) < Number(r.values[0]);
  });
}

describe('label matching', () => {
  it('agrees with a naive implementation, also after formatting and parsing', () => {
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 4 }), labels, (requirements, subject) => {
        const matcher = new LabelMatcher(requirements);
        const readBack = parseLabelSelector(matcher.toString());
        expect(readBack.toString()).toBe(matcher.toString());
        expect(matcher.matches(subject)).toBe(oracle(requirements, subject));
        expect(readBack.matches(subject)).toBe(oracle(requirements, subject));
      }),
      { numRuns: 500 },
    );
  });

  it('does not mistake inherited properties for labels', () => {
    expect(parseLabelSelector('constructor').matches({})).toBe(false);
    expect(parseLabelSelector('toString in (x)').matches(undefined)).toBe(false);
  });

  it('compares numbers beyond 2^53 exactly, and ignores numbers outside int64', () => {
    expect(parseLabelSelector('v>9007199254740992').matches({ v: '9007199254740993' })).toBe(true);
    expect(parseLabelSelector('v>1').matches({ v: '9223372036854775808' })).toBe(false);
  });
});

describe('LabelSelector objects', () => {
  it('no selector selects nothing, an empty selector selects everything', () => {
    expect(matcherFromSelector(undefined).matches({ a: '1' })).toBe(false);
    expect(matcherFromSelector(null).empty).toBe(false);
    expect(matcherFromSelector({}).matches({})).toBe(true);
    expect(matcherFromSelector({ matchLabels: {}, matchExpressions: [] }).empty).toBe(true);
    expect(noLabel().matches({})).toBe(false);
    expect(everyLabel().matches(undefined)).toBe(true);
  });

  it('combines matchLabels and matchExpressions', () => {
    const matcher = matcherFromSelector({
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'NotIn', values: ['b', 'a'] },
        { key: 'legacy', operator: 'DoesNotExist' },
      ],
    });
    expect(matcher.toString()).toBe('app=web,!legacy,tier notin (a,b)');
    expect(matcher.matches({ app: 'web' })).toBe(true);
    expect(matcher.matches({ app: 'web', tier: 'a' })).toBe(false);
    expect(matcherFromLabels({ b: '1', a: '2' }).toString()).toBe('a=2,b=1');
  });

  it.each([
    [{ key: 'a', operator: 'Gt', values: ['1'] }, '"Gt" is not a valid label selector operator'],
    [{ key: 'a', operator: 'toString' }, '"toString" is not a valid label selector operator'],
    [
      { key: 'a', operator: 'In' },
      "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    ],
    [
      { key: '', operator: 'Exists', values: ['x'] },
      `[key: Invalid value: "": name part must be non-empty; ${NAME}, values: Invalid value: ["x"]: values set must be empty for exists and does not exist]`,
    ],
  ])('%j is rejected', (expression, message) => {
    expect(() => matcherFromSelector({ matchExpressions: [expression] })).toThrow(
      expect.objectContaining({ message }),
    );
  });
});

describe('field selectors', () => {
  it.each([
    ['', ''],
    [',', ''],
    ['=', ''],
    ['b==2,a!=1', 'a!=1,b=2'],
    ['a=x\\,y\\=z\\\\', 'a=x\\,y\\=z\\\\'],
    ['metadata.name=', 'metadata.name='],
  ])('%j is parsed as %j', (text, formatted) => {
    expect(parseFieldSelector(text).toString()).toBe(formatted);
  });

  it.each([
    ['abc', "invalid selector: 'abc'; can't understand 'abc'"],
    ['b=1,abc', "invalid selector: 'b=1,abc'; can't understand 'abc'"],
    ['a===b', 'invalid field selector: unescaped character in value: 61'],
    ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('%j is rejected with the message of apimachinery', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(expect.objectContaining({ message }));
  });

  it('accepts and matches any value', () => {
    const field = fc.constantFrom('metadata.name', 'status.phase');
    const term = fc.record({
      field,
      operator: fc.constantFrom('=' as const, '!=' as const),
      value: fc.oneof(fc.string({ unit: fc.constantFrom(...'\\,=!ab') }), fc.string({ unit: 'grapheme' })),
    });
    fc.assert(
      fc.property(fc.array(term), fc.dictionary(field, fc.string()), (terms, object) => {
        const text = terms
          .map((t) => `${t.field}${t.operator}${t.value.replace(/[\\,=]/g, '\\$&')}`)
          .join(',');
        const matcher = parseFieldSelector(text);
        expect(parseFieldSelector(matcher.toString())).toEqual(matcher);
        expect(matcher.matches((f) => object[f])).toBe(
          terms.every((t) => ((object[t.field] ?? '') === t.value) === (t.operator === '=')),
        );
      }),
    );
  });

  it('returns the only value that a field may have', () => {
    expect(parseFieldSelector('metadata.name=a,x!=y').exactValueOf('metadata.name')).toBe('a');
    expect(parseFieldSelector('x!=y').exactValueOf('x')).toBeUndefined();
  });
});
