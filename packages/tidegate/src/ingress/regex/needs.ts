import { OP, type Pattern } from './program.ts';

const PARTS = 3;

/**
 * Whether there are texts that the pattern matches only because of one of these bytes, for example `/a;b` because of `;`. Parts
 * that it can leave out do not count, for example in `/a(;b)?`.
 */
export function needsOneOf(pattern: Pattern, bytes: readonly number[]): boolean {
  const { code, sets } = pattern;
  const needed = sets.map((ranges) => isWithin(ranges, bytes));
  const isNeeded = (at: number): boolean =>
    code[at * PARTS] === OP.set && needed[code[at * PARTS + 1]!] === true;
  const size = code.length / PARTS;
  if (!Array.from({ length: size }, (_, at) => at).some(isNeeded)) return false;
  // Where the pattern can be before it compares a byte: at its start, and behind each comparison.
  const positions = [0];
  for (let at = 0; at < size; at++) if (code[at * PARTS] === OP.set) positions.push(at + 1);
  return positions.some((from) => {
    const here = reached(pattern, from, () => false);
    if (!here.some(isNeeded)) return false;
    const ahead = reached(pattern, from, (at) => !isNeeded(at));
    return !ahead.some((at) => code[at * PARTS] === OP.match);
  });
}

/** Whether the set has bytes, and only these. */
function isWithin(ranges: readonly number[], bytes: readonly number[]): boolean {
  for (let at = 0; at + 1 < ranges.length; at += 2)
    for (let byte = ranges[at]!; byte <= ranges[at + 1]!; byte++) if (!bytes.includes(byte)) return false;
  return ranges.length > 0;
}

/** The instructions that are reached from an address. `passes`: whether to continue behind the comparison at an address. */
function reached({ code }: Pattern, from: number, passes: (at: number) => boolean): number[] {
  const seen = new Set([from]);
  for (const at of seen) {
    const [op, first = 0, second = 0] = code.slice(at * PARTS, at * PARTS + PARTS);
    if (op === OP.match || (op === OP.set && !passes(at))) continue;
    if (op === OP.jump || op === OP.split) seen.add(first);
    else seen.add(at + 1);
    if (op === OP.split) seen.add(second);
  }
  return [...seen];
}
