import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { duplicateKeys, parseJson } from './json.ts';

describe('duplicateKeys', () => {
  it('finds nothing in the output of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        expect(duplicateKeys(JSON.stringify(JSON.parse(text)))).toEqual([]);
      }),
    );
  });

  it.each([
    ['{"a":1,"a":2,"a":3}', ['a']],
    ['{"a":{"b":[{"c":1},{"c":1,"c":2}]}}', ['a.b[1].c']],
    ['{"a":1,"\\u0061":2}', ['a']],
    ['{"a":"\\"a\\":1","b":[]}', []],
  ])('%s', (text, expected) => {
    expect(duplicateKeys(text)).toEqual(expected);
  });
});

describe('parseJson', () => {
  // All messages are those of Go's JSON decoder.
  it.each([
    ['', 'unexpected end of JSON input'],
    ['{"a":1', 'unexpected end of JSON input'],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['tru!', "invalid character '!' in literal true (expecting 'e')"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1ex', "invalid character 'x' in exponent of numeric literal"],
  ])('rejects %j', (text, message) => {
    expect(() => parseJson(text)).toThrow(message);
  });

  it('never accepts what JSON.parse rejects', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        if (valid) expect(() => parseJson(text)).not.toThrow();
        else expect(() => parseJson(text)).toThrow();
      }),
    );
  });
});
