import { PatternError } from './syntax-error.ts';

/** Bytes as pairs of the first and the last of a range, in increasing order. */
export type ByteSet = readonly number[];

const LAST = 255;

/** Sorts and joins ranges. */
export function byteSet(ranges: readonly (readonly [number, number])[]): ByteSet {
  const result: number[] = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const end = result.at(-1);
    if (end !== undefined && from <= end + 1) result[result.length - 1] = Math.max(end, to);
    else result.push(from, to);
  }
  return result;
}

export function pairsOf(set: ByteSet): [number, number][] {
  const pairs: [number, number][] = [];
  for (let at = 0; at + 1 < set.length; at += 2) pairs.push([set[at]!, set[at + 1]!]);
  return pairs;
}

export function inverse(set: ByteSet): ByteSet {
  const pairs: [number, number][] = [];
  let next = 0;
  for (const [from, to] of pairsOf(set)) {
    if (from > next) pairs.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= LAST) pairs.push([next, LAST]);
  return byteSet(pairs);
}

/** Adds the other case of each letter: nginx compares paths without regard to case if they are regular expressions. */
export function folded(set: ByteSet): ByteSet {
  const pairs = pairsOf(set);
  const shifted = (low: number, high: number, by: number): [number, number][] =>
    pairs.flatMap(([from, to]) => {
      const [first, last] = [Math.max(from, low), Math.min(to, high)];
      return first <= last ? [[first + by, last + by] as [number, number]] : [];
    });
  return byteSet([...pairs, ...shifted(0x41, 0x5a, 32), ...shifted(0x61, 0x7a, -32)]);
}

const code = (character: string): number => character.charCodeAt(0);
const range = (from: string, to: string): [number, number] => [code(from), code(to)];

export const one = (character: string): ByteSet => [code(character), code(character)];

const DIGIT = byteSet([range('0', '9')]);
const WORD = byteSet([range('0', '9'), range('A', 'Z'), range('a', 'z'), range('_', '_')]);
const SPACE = byteSet([[9, 13], range(' ', ' ')]);
/** A dot matches everything but a line end. */
export const DOT = inverse(one('\n'));

/** Classes that are written with a backslash. */
export const CLASSES: Readonly<Record<string, ByteSet>> = {
  d: DIGIT,
  D: inverse(DIGIT),
  w: WORD,
  W: inverse(WORD),
  s: SPACE,
  S: inverse(SPACE),
};

/** A map, because the key is a text of a user, and every object has names such as `constructor`. */
const POSIX: ReadonlyMap<string, ByteSet> = new Map(
  Object.entries({
    alpha: byteSet([range('A', 'Z'), range('a', 'z')]),
    digit: DIGIT,
    alnum: byteSet([range('0', '9'), range('A', 'Z'), range('a', 'z')]),
    upper: byteSet([range('A', 'Z')]),
    lower: byteSet([range('a', 'z')]),
    word: WORD,
    space: SPACE,
    blank: byteSet([range(' ', ' '), [9, 9]]),
    punct: byteSet([range('!', '/'), range(':', '@'), range('[', '`'), range('{', '~')]),
    xdigit: byteSet([range('0', '9'), range('A', 'F'), range('a', 'f')]),
    print: byteSet([range(' ', '~')]),
    graph: byteSet([range('!', '~')]),
    cntrl: byteSet([
      [0, 31],
      [127, 127],
    ]),
  }),
);

/** A class such as `[:alpha:]`, or `[:^alpha:]` for all other bytes. */
export function posixClass(name: string): ByteSet {
  const set = POSIX.get(name.replace(/^\^/, ''));
  if (set === undefined) throw new PatternError(`[:${name}:] is not a class`);
  return name.startsWith('^') ? inverse(set) : set;
}
