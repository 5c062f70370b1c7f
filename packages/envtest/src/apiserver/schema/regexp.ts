/** Regular expressions from users. RE2, as in Go, guarantees linear time, so that no pattern can block the server. */
import { type RE2JS as Pattern, RE2JS } from 're2js';

/** Patterns come from schemas and rules, so their number is limited by the definitions that administrators create. */
const compiled = new Map<string, Pattern>();

/** Throws if the pattern is not valid in RE2. */
export function regexp(pattern: string): Pattern {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const fresh = RE2JS.compile(pattern);
  compiled.set(pattern, fresh);
  return fresh;
}

/** Unanchored, like Go's MatchString. */
export const matches = (pattern: string, text: string): boolean => regexp(pattern).matcher(text).find();
