/**
 * What a broken expression is told. The real server's parser is made by ANTLR, which says what it would have taken
 * instead; where it would guess its way through a longer mess, this stops at the first mistake.
 */
import { type Token, tokensOf } from './tokens.ts';

export interface CelError {
  code?: string;
  summary?: string;
  message?: string;
  range?: { start: number; end: number };
}

export interface Issue {
  message: string;
  /** Where in the expression, in characters. */
  offset: number;
}

const UNREADABLE = new Set(['unterminated_string', 'unterminated_triple_quoted_string', 'newline_in_string']);

/** Undefined when the mistake is not one of syntax. `recheck` finds the next mistake in a mended expression. */
export function syntaxIssues(
  expression: string,
  error: CelError,
  recheck: (expression: string) => CelError | undefined,
): Issue[] | undefined {
  const { code = '', summary = '', range } = error;
  const start = range?.start ?? 0;
  // A stray character is told without quotes, a stray token with them.
  if (UNREADABLE.has(code) || /^Unexpected character: [^']/.test(summary)) {
    return unreadable(expression, code, start, recheck);
  }
  const message = messageOf(expression, code, summary, start);
  return message === undefined ? undefined : [{ message: `Syntax error: ${message}`, offset: start }];
}

/** The lexer leaves out what it can not read, and the parser goes on with the rest. */
function unreadable(
  expression: string,
  code: string,
  start: number,
  recheck: (expression: string) => CelError | undefined,
): Issue[] {
  // These begin an operator of two characters, so the lexer has looked at the next one, too.
  const length = /[&|=]/.test(expression[start] ?? '') ? 2 : 1;
  const end = UNREADABLE.has(code) ? expression.length : Math.min(start + length, expression.length);
  const message = `Syntax error: token recognition error at: '${expression.slice(start, end)}'`;
  const mended = expression.slice(0, start) + ' '.repeat(end - start) + expression.slice(end);
  const next = recheck(mended);
  const rest = next === undefined ? [] : (syntaxIssues(mended, next, recheck) ?? []);
  return [{ message, offset: start }, ...rest];
}

const OPERANDS = ["'['", "'{'", "'('", "'.'", "'-'", "'!'"];
const LITERALS = ["'true'", "'false'", "'null'"];
const KINDS = ['NUM_FLOAT', 'NUM_INT', 'NUM_UINT', 'STRING', 'BYTES', 'IDENTIFIER'];
const expecting = (operands: string[]): string => `{${[...operands, ...LITERALS, ...KINDS].join(', ')}}`;

const EXPRESSION = expecting(OPERANDS);
const ARGUMENT = expecting(["'['", "'{'", "'('", "')'", "'.'", "'-'", "'!'"]);
const INDEX = expecting([...OPERANDS, "'?'"]);
const ENTRY = expecting(["'['", "'{'", "'}'", "'('", "'.'", "','", "'-'", "'!'", "'?'"]);

const CLOSING: Readonly<Record<string, string>> = { RPAREN: ')', RBRACKET: ']', RBRACE: '}' };
const EOF = '<EOF>';

function messageOf(expression: string, code: string, summary: string, start: number): string | undefined {
  const tokens = tokensOf(expression);
  const found = tokens.findIndex((token) => token.start >= start);
  const at = found === -1 ? tokens.length : found;
  const token = tokens[at]?.text ?? EOF;
  const isLast = at >= tokens.length - 1;
  switch (code) {
    case 'unexpected_token':
      return noExpression(tokens, at);
    case 'unexpected_character':
      return `${isLast ? 'extraneous' : 'mismatched'} input '${token}' expecting ${EOF}`;
    case 'expected_token':
      return noneOf(/^Expected (\w+)/.exec(summary)?.[1] ?? '', tokens, at);
    default:
      return undefined;
  }
}

/** An operand was wanted. */
function noExpression(tokens: Token[], at: number): string {
  const token = tokens[at]?.text ?? EOF;
  const before = tokens[at - 1]?.text;
  const isOperand = (text: string | undefined): boolean => text !== undefined && /^[\w"')\]}]/.test(text);
  const wantsIndex = before === '[' && isOperand(tokens[at - 2]?.text);
  if (token === EOF) {
    if (before === ',' && opening(tokens, at) === '[') return `missing ']' at '${EOF}'`;
    if (before === '!') return `extraneous input '${EOF}' expecting ${EXPRESSION}`;
    if (before === '(' && isOperand(tokens[at - 2]?.text))
      return `mismatched input '${EOF}' expecting ${ARGUMENT}`;
    if (before === '{') return `mismatched input '${EOF}' expecting ${ENTRY}`;
    return `mismatched input '${EOF}' expecting ${wantsIndex ? INDEX : EXPRESSION}`;
  }
  // Without this one it would go on.
  const next = tokens[at + 1]?.text ?? EOF;
  const helps = next !== EOF && /^[\w"'[{(.!-]/.test(next) && next !== '!=';
  return `${helps ? 'extraneous' : 'mismatched'} input '${token}' expecting ${wantsIndex ? INDEX : EXPRESSION}`;
}

/** A particular token was wanted. */
function noneOf(wanted: string, tokens: Token[], at: number): string {
  const token = tokens[at]?.text ?? EOF;
  if (wanted === 'IDENTIFIER') {
    const rest =
      token === EOF
        ? ''
        : tokens
            .slice(at, at + 2)
            .map(({ text }) => text)
            .join('');
    return `no viable alternative at input '.${rest}'`;
  }
  if (wanted === 'COLON') {
    return token === EOF ? `mismatched input '${EOF}' expecting ':'` : `missing ':' at '${token}'`;
  }
  const closing = CLOSING[wanted];
  if (closing === undefined) return `mismatched input '${token}' expecting ${wanted}`;
  const isList = closing === ']' && !isIndex(tokens, at);
  return isList ? `mismatched input '${token}' expecting {']', ','}` : `missing '${closing}' at '${token}'`;
}

const PAIRS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

/** Where the innermost bracket that is still open stands. */
function openingIndex(tokens: Token[], end: number): number {
  const open: number[] = [];
  for (const [index, { text }] of tokens.slice(0, end).entries()) {
    if ('([{'.includes(text)) open.push(index);
    else if (PAIRS[text] !== undefined) open.pop();
  }
  return open.at(-1) ?? -1;
}

const opening = (tokens: Token[], end: number): string | undefined => tokens[openingIndex(tokens, end)]?.text;

const isIndex = (tokens: Token[], end: number): boolean => {
  const before = tokens[openingIndex(tokens, end) - 1]?.text;
  return before !== undefined && /^[\w"')\]}]/.test(before);
};
