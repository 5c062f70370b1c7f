import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeFieldSet,
  difference,
  EMPTY,
  type FieldSet,
  has,
  intersection,
  pathsOf,
  printPath,
  recursiveDifference,
  setOf,
  union,
} from './fieldset.ts';
import { fieldElement, keyElement, valueElement } from './path-element.ts';

const element = fc.oneof(
  fc.constantFrom('a', 'b', 'c').map(fieldElement),
  fc
    .constantFrom(1, 9, 80, 443)
    .map((port) => keyElement(['port', 'proto'], (k) => (k === 'port' ? port : 'TCP'))),
  fc.constantFrom('x', 'x y', 'x-').map(valueElement),
);
const paths = fc.array(fc.array(element, { minLength: 1, maxLength: 4 }), { maxLength: 12 });

/** The reference: a set of paths as a set of texts. */
const textOf = (path: readonly string[]): string => JSON.stringify(path);
const membersOf = (set: FieldSet): Set<string> => new Set([...pathsOf(set)].map(textOf));

function deepFreeze(set: FieldSet): FieldSet {
  for (const child of Object.values(set)) deepFreeze(child);
  return Object.freeze(set);
}

const frozenSet = (some: string[][]): FieldSet => deepFreeze(setOf(some));
/** Every operation must return a canonical set. */
const expectCanonical = (set: FieldSet): void => {
  const copy: unknown = JSON.parse(JSON.stringify(set));
  expect(decodeFieldSet(copy)).toBe(copy);
};

describe('sets of paths behave like sets of texts', () => {
  const cases = {
    union: { run: union, oracle: (a: Set<string>, b: Set<string>) => new Set([...a, ...b]) },
    difference: {
      run: difference,
      oracle: (a: Set<string>, b: Set<string>) => new Set([...a].filter((path) => !b.has(path))),
    },
    intersection: {
      run: intersection,
      oracle: (a: Set<string>, b: Set<string>) => new Set([...a].filter((path) => b.has(path))),
    },
    recursiveDifference: {
      run: recursiveDifference,
      oracle: (a: Set<string>, b: Set<string>) =>
        new Set([...a].filter((path) => ![...b].some((prefix) => path.startsWith(prefix.slice(0, -1))))),
    },
  };
  it.each(Object.entries(cases))('%s', (_name, { run, oracle }) => {
    fc.assert(
      fc.property(paths, paths, (a, b) => {
        const result = run(frozenSet(a), frozenSet(b));
        expect(membersOf(result)).toEqual(oracle(new Set(a.map(textOf)), new Set(b.map(textOf))));
        expectCanonical(result);
      }),
    );
  });

  it('has', () => {
    fc.assert(
      fc.property(paths, fc.array(element, { maxLength: 4 }), (a, path) => {
        expect(has(setOf(a), path)).toBe(a.some((member) => textOf(member) === textOf(path)));
      }),
    );
  });
});

describe('fieldsV1', () => {
  it('survives a round trip with keys in any order', () => {
    const reversed = (set: unknown): unknown =>
      Object.fromEntries(
        Object.entries(set as object)
          .reverse()
          .map(([key, below]) => [key, reversed(below)]),
      );
    fc.assert(
      fc.property(paths, (a) => {
        const set = setOf(a);
        expect(JSON.stringify(decodeFieldSet(reversed(set)))).toBe(JSON.stringify(set));
      }),
    );
  });

  it('is ordered: self, fields, keys by value, values, indexes', () => {
    const sent = {
      'i:10': {},
      'i:9': {},
      'v:"b"': {},
      'v:10': {},
      'v:9': {},
      'k:{"port":80}': {},
      'k:{"port":9}': {},
      'f:z': { 'f:b': {}, '.': {}, 'f:a': { '.': {} } },
      'f:a': null,
    };
    expect(JSON.stringify(decodeFieldSet(sent))).toBe(
      '{"f:a":{},"f:z":{".":{},"f:a":{},"f:b":{}},"k:{\\"port\\":9}":{},"k:{\\"port\\":80}":{},' +
        '"v:9":{},"v:10":{},"v:\\"b\\"":{},"i:9":{},"i:10":{}}',
    );
  });

  it('has sorted keys with the escapes of Go', () => {
    expect(decodeFieldSet({ 'k:{"protocol":"TCP","containerPort":80}': {} })).toEqual({
      'k:{"containerPort":80,"protocol":"TCP"}': {},
    });
    expect(decodeFieldSet({ 'v:"a<b"': {} })).toEqual({ 'v:"a\\u003cb"': {} });
  });

  it('drops elements of unknown kinds and rejects malformed ones', () => {
    expect(decodeFieldSet({ 'q:later': {}, 'f:a': {} })).toEqual({ 'f:a': {} });
    expect(decodeFieldSet(undefined)).toBe(EMPTY);
    for (const nonsense of [
      { f: {} },
      { fa: {} },
      { 'f:a': 1 },
      { 'k:1': {} },
      { 'v:{': {} },
      { 'i:x': {} },
      [],
    ]) {
      expect(() => decodeFieldSet(nonsense)).toThrow();
    }
  });

  it('prints paths as in error messages', () => {
    const path = ['f:spec', 'k:{"containerPort":80,"protocol":"TCP"}', 'v:"x"', 'i:3'];
    expect(printPath(path)).toBe('.spec[containerPort=80,protocol="TCP"][="x"][3]');
  });
});
