/** Regular expressions of users: RE2, as in Go, so that none of them can take the server down. */
import { type RE2JS as Pattern, RE2JS } from 're2js';

const compiled = new Map<string, Pattern>();

/** Throws when the pattern is not RE2. */
export function regexp(pattern: string): Pattern {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const fresh = RE2JS.compile(pattern);
  compiled.set(pattern, fresh);
  return fresh;
}

/** Unanchored, as Go's MatchString. */
export const matches = (pattern: string, text: string): boolean => regexp(pattern).matcher(text).find();
