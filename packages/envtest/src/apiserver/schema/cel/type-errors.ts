/** Type errors in the words of cel-go. */
import type { CelError, Issue } from './syntax-errors.ts';
import { tokensOf } from './tokens.ts';

/** `functions`: the names of all declared functions. */
export function typeIssue(expression: string, error: CelError, functions: ReadonlySet<string>): Issue {
  const { code = '', summary = '', range } = error;
  const { start, end } = range ?? { start: 0, end: expression.length };
  const at = (message: string, offset = start): Issue => ({ message, offset });
  switch (code) {
    case 'reserved_identifier':
      return at(summary.replace('Reserved', 'reserved'));
    case 'invalid_macro_argument':
      return at(summary.replace(/^(\w+\(\)) invalid argument$/, 'invalid argument to $1 macro'));
    case 'invalid_comprehension_range':
      return at(`expression of type ${summary.slice('Expression of type '.length).replace(/\.$/, '')}`);
    case 'invalid_logical_operand':
      return at(`expected type 'bool' but found ${/got (.+)$/.exec(summary)?.[1] ?? ''}`);
    case 'no_such_key':
      return at(`undefined field '${summary.replace(/^No such key: /, '')}'`, Math.max(start - 1, 0));
    case 'cannot_index_type':
      return notIndexable(expression, summary, start, end);
    case 'no_such_overload':
      return at(...noOperator(expression, summary, start, end));
    case 'no_matching_overload':
      return noFunction(expression, summary, end, functions);
    default: {
      const unknown = /^Unknown variable: (.+)$/.exec(summary)?.[1];
      return at(unknown === undefined ? summary : `undeclared reference to '${unknown}' (in container '')`);
    }
  }
}

function noOperator(
  expression: string,
  summary: string,
  start: number,
  end: number,
): [message: string, offset: number] {
  const unary = /^no such overload: ([!-])(\S+)$/.exec(summary);
  if (unary !== null)
    return [`found no matching overload for '${unary[1]}_' applied to '(${unary[2]})'`, start];
  const [, left, symbol = '', right] = /^no such overload: (.+) (\S+) (.+)$/.exec(summary) ?? [];
  const at = expression.slice(start, end).indexOf(symbol);
  return [
    `found no matching overload for '_${symbol}_' applied to '(${left}, ${right})'`,
    at === -1 ? start : start + at,
  ];
}

function notIndexable(expression: string, summary: string, start: number, end: number): Issue {
  const type = /'(.+)'/.exec(summary)?.[1] ?? '';
  const bracket = expression.slice(start, end).indexOf('[');
  // For a field selection, the reported range starts at the field; for a subscript, at its operand.
  if (bracket === -1) {
    return { message: `type '${type}' does not support field selection`, offset: Math.max(start - 1, 0) };
  }
  const literal = expression.slice(start + bracket + 1, end - 1).trim();
  const index = /^\d+$/.test(literal) ? 'int' : /^["']/.test(literal) ? 'string' : 'dyn';
  return {
    message: `found no matching overload for '_[_]' applied to '(${type}, ${index})'`,
    offset: start + bracket,
  };
}

function noFunction(expression: string, summary: string, end: number, functions: ReadonlySet<string>): Issue {
  const [, receiver, name = '', parameters = ''] =
    /^found no matching overload for '(?:(.+?)\.)?(\w+)\((.*)\)'$/.exec(
      summary.replaceAll(/<|>/g, bracket),
    ) ?? [];
  const offset = openingParenthesis(expression, end);
  if (!functions.has(name)) return { message: `undeclared reference to '${name}' (in container '')`, offset };
  const applied = receiver === undefined ? `(${parameters})` : `${receiver}.(${parameters})`;
  return { message: `found no matching overload for '${name}' applied to '${applied}'`, offset };
}

const bracket = (sign: string): string => (sign === '<' ? '(' : ')');

/** The opening parenthesis of the call that ends there. */
function openingParenthesis(expression: string, end: number): number {
  let depth = 0;
  for (const { text, start } of tokensOf(expression.slice(0, end)).reverse()) {
    if (text === ')') depth++;
    else if (text === '(' && --depth === 0) return start;
  }
  return 0;
}
