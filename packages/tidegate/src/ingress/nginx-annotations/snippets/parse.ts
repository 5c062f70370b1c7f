/**
 * Parses directives of nginx, to name typed forms of them. Nothing of them is ever applied. Linear time; text that is not
 * understood ends the list.
 */
export interface Directive {
  readonly name: string;
  readonly args: readonly string[];
  /** The directives in its braces. Undefined: it has none. */
  readonly block?: readonly Directive[];
}

/** More is not looked at. */
const MOST_CHARACTERS = 20_000;
const MOST_DEPTH = 3;

const TOKEN =
  /\s+|#[^\n]*|([;{}])|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|((?:\$\{\w+\}|[^\s;{}"'\\]|\\.)+)/sy;

type Token = { readonly mark: string } | { readonly word: string };

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found !== null; found = TOKEN.exec(text)) {
    const [, mark, double, single, plain] = found;
    const word = double ?? single ?? plain;
    if (mark !== undefined) tokens.push({ mark });
    else if (word !== undefined) tokens.push({ word });
  }
  return tokens;
}

/** The directives of a snippet, up to the first text that is not valid. */
export function parseDirectives(text: string): Directive[] {
  const tokens = tokensOf(text.slice(0, MOST_CHARACTERS));
  let at = 0;
  const block = (depth: number): Directive[] => {
    const found: Directive[] = [];
    let words: string[] = [];
    while (at < tokens.length) {
      const token = tokens[at++]!;
      if ('word' in token) {
        words.push(token.word);
        continue;
      }
      const [name, ...args] = words;
      words = [];
      if (token.mark === '}') return found;
      if (name === undefined || (token.mark === '{' && depth >= MOST_DEPTH)) {
        at = tokens.length;
        return found;
      }
      found.push(token.mark === '{' ? { name, args, block: block(depth + 1) } : { name, args });
    }
    // nginx requires a semicolon. People forget the last one.
    const [name, ...args] = words;
    if (name !== undefined) found.push({ name, args });
    return found;
  };
  return block(0);
}
