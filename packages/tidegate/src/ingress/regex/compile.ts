import { assemble, type Pattern } from './program.ts';
import { parsePattern } from './syntax.ts';
import { PatternError } from './syntax-error.ts';

const MAX_LENGTH = 1_000;

/**
 * Compiles a regular expression. `saved` are the groups whose text will be needed. Throws PatternError if the expression
 * is not valid, needs more than linear time, or is too large. `before` is put before the text, but does not count in positions.
 */
export function compilePattern(
  text: string,
  saved: ReadonlySet<number> = new Set(),
  before = '',
  ignoresCase = true,
): Pattern {
  if (text.length > MAX_LENGTH) throw new PatternError(`more than ${MAX_LENGTH} characters`);
  const { node, groups } = parsePattern(text, before, ignoresCase);
  // A group that does not exist has an empty text, as in nginx.
  return assemble(node, new Set([...saved].filter((number) => number <= groups)));
}
