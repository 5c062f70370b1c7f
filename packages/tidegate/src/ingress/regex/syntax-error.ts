/** A regular expression is not valid, or has something that takes more than linear time. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}
