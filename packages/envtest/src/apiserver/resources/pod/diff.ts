/** The difference between two pod specs as kube-apiserver shows it: a unified diff of its internal form. */
import { internalSpec } from './internal-spec.ts';
import type { PodSpec } from './types.ts';

const CONTEXT = 3;

interface Line {
  mark: ' ' | '-' | '+';
  text: string;
}

/** The difference of two specs for the error of a forbidden update, as kube-apiserver prints it. */
export const specDiff = (old: PodSpec, spec: PodSpec): string =>
  internalDiff(internalSpec(old), internalSpec(spec));

/** The difference between two structs in their internal form. */
export function internalDiff(old: unknown, value: unknown): string {
  const linesOf = (struct: unknown): string[] => JSON.stringify(struct, null, 1).split('\n');
  return unifiedDiff(linesOf(old), linesOf(value));
}

export function unifiedDiff(before: string[], after: string[]): string {
  const lines = compare(before, after);
  const changed = lines.flatMap((line, i) => (line.mark === ' ' ? [] : [i]));
  const hunks: [start: number, end: number][] = [];
  for (const at of changed) {
    const last = hunks[hunks.length - 1];
    // Changes whose context lines touch share a hunk.
    if (last !== undefined && at - CONTEXT <= last[1]) last[1] = at + CONTEXT + 1;
    else hunks.push([Math.max(0, at - CONTEXT), at + CONTEXT + 1]);
  }
  return hunks.map(([start, end]) => printHunk(lines, start, end)).join('');
}

function printHunk(lines: Line[], start: number, end: number): string {
  const count = (part: Line[], mark: '-' | '+'): number =>
    part.filter((line) => line.mark === ' ' || line.mark === mark).length;
  const body = lines.slice(start, end);
  const position = (mark: '-' | '+'): string => {
    const length = count(body, mark);
    const first = count(lines.slice(0, start), mark) + (length === 0 ? 0 : 1);
    return length === 1 ? `${mark}${first}` : `${mark}${first},${length}`;
  };
  const text = body.map((line) => `${line.mark}${line.text}\n`).join('');
  return `@@ ${position('-')} ${position('+')} @@\n${text}`;
}

/** Longest common subsequence of the lines between the common start and end. */
function compare(before: string[], after: string[]): Line[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  const shorter = Math.min(before.length, after.length) - head;
  while (tail < shorter && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const same = (text: string): Line => ({ mark: ' ', text });
  return [
    ...before.slice(0, head).map(same),
    ...compareMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

function compareMiddle(before: string[], after: string[]): Line[] {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ mark: ' ', text: before[i] ?? '' });
      i++;
      j++;
    } else if (i < before.length && (j === after.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ mark: '-', text: before[i++] ?? '' });
    } else lines.push({ mark: '+', text: after[j++] ?? '' });
  }
  return lines;
}
