import { PatternError } from '../ingress/regex/index.ts';
import { type Node, parsePattern } from '../ingress/regex/syntax.ts';

/**
 * Texts that a regular expression of a path matches: with the smallest number of repetitions, and with one more where this is
 * allowed. The text itself, if it is not a valid expression.
 */
export function samplesOf(expression: string): string[] {
  try {
    const { node } = parsePattern(expression, '', false);
    return [...new Set([sampleOf(node, 0), sampleOf(node, 1)].map((each) => (each === '' ? '/' : each)))];
  } catch (error) {
    if (error instanceof PatternError) return [expression];
    throw error;
  }
}

function sampleOf(node: Node, more: number): string {
  switch (node.kind) {
    case 'set':
      return characterOf(node.set);
    case 'assertion':
      return '';
    case 'sequence':
      return node.parts.map((part) => sampleOf(part, more)).join('');
    case 'choice':
      return sampleOf(node.parts[0] ?? { kind: 'sequence', parts: [] }, more);
    case 'group':
      return sampleOf(node.of, more);
    case 'repeat':
      return sampleOf(node.of, more).repeat(Math.min(node.min + more, node.max ?? node.min + more));
  }
}

/** Readable characters come first. `set` has pairs of the first and the last byte of a range. */
function characterOf(set: readonly number[]): string {
  const has = (code: number): boolean =>
    set.some((first, index) => index % 2 === 0 && first <= code && code <= set[index + 1]!);
  const preferred = [...'abcdefghijklmnopqrstuvwxyz0123456789/-_.~ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const found = preferred.find((each) => has(each.charCodeAt(0)));
  return found ?? String.fromCharCode(set[0] ?? 0x61);
}
