/** Quotes text like `%q` in Go, which many messages of kube-apiserver use. */

const SHORT: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
};

/** Everything except letters, marks, numbers, punctuation, symbols and the plain space. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\\/gu;

const escaped = (text: string): string =>
  text.replace(UNPRINTABLE, (char) => SHORT[char] ?? codeOf(char.codePointAt(0) ?? 0));

function codeOf(code: number): string {
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** A string in double quotes, as `%q` of Go prints it. */
export const quoteText = (text: string): string => `"${escaped(text).replaceAll('"', '\\"')}"`;

/** A character in single quotes, as `%q` of Go prints it. */
export const quoteCharacter = (char: string): string => `'${escaped(char).replaceAll("'", "\\'")}'`;
