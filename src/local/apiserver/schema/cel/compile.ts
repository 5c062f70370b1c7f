/** Compiling expressions, and saying in cel-go's words what is wrong with them. */
import type { Environment, SourceRange } from '@marcbachmann/cel-js';

export interface Program {
  /** Throws EvaluationError. */
  evaluate(variables: Record<string, unknown>): unknown;
  /** The type of the result as far as it is known: `bool`, `string`, `dyn` ... */
  type: string;
}

/** The expression can not be used at all. */
export class CompileError extends Error {
  override readonly name = 'CompileError';
}

/** The expression could not be evaluated for these values. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
}

export function compile(expression: string, environment: Environment): Program {
  const checked = environment.check(expression);
  if (!checked.valid) throw new CompileError(describe(expression, checked.error));
  const run = environment.parse(withRe2(expression));
  return {
    type: checked.type ?? 'dyn',
    evaluate(variables) {
      try {
        return run(variables);
      } catch (cause) {
        throw new EvaluationError(evalMessage(cause), { cause });
      }
    },
  };
}

const STRING_OR =
  /(r?(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))|(\.\s*)matches(\s*\()|\b(oldSelf)\b/gi;

/** The library's own `matches` takes JavaScript patterns, which can hang and which CEL does not mean. */
const withRe2 = (expression: string): string =>
  expression.replace(
    STRING_OR,
    (whole, text: string | undefined, dot: string | undefined, paren: string | undefined) =>
      text === undefined && dot !== undefined ? `${dot}re2matches${paren}` : whole,
  );

export const usesOldSelf = (expression: string): boolean =>
  [...expression.matchAll(STRING_OR)].some((match) => match[4] === 'oldSelf');

interface CelError {
  code?: string;
  summary?: string;
  message?: string;
  range?: SourceRange;
}

/** With the line and a mark under the column, as the server shows it. */
function describe(expression: string, error: CelError | undefined): string {
  const [message, offset] = located(expression, error ?? {});
  const before = expression.slice(0, offset).split('\n');
  const line = before.length;
  const column = before.at(-1)?.length ?? 0;
  const text = expression.split('\n')[line - 1] ?? '';
  return `compilation failed: ERROR: <input>:${line}:${column + 1}: ${message}\n | ${text}\n | ${'.'.repeat(column)}^`;
}

function located(
  expression: string,
  { code, summary = '', range }: CelError,
): [message: string, offset: number] {
  const { start, end } = range ?? { start: 0, end: expression.length };
  const operator = /^no such overload: (.+) (\S+) (.+)$/.exec(summary);
  if (code === 'no_such_overload' && operator !== null) {
    const [, left, symbol = '', right] = operator;
    const at = expression.slice(start, end).indexOf(symbol);
    return [
      `found no matching overload for '_${symbol}_' applied to '(${left}, ${right})'`,
      at === -1 ? start : start + at,
    ];
  }
  const unknown = /^Unknown variable: (.+)$/.exec(summary);
  if (unknown !== null) return [`undeclared reference to '${unknown[1]}' (in container '')`, start];
  const index = /^Cannot index type '(.+)'$/.exec(summary);
  if (index !== null) return [`type '${index[1]}' does not support field selection`, Math.max(start - 1, 0)];
  if (code === 'no_matching_overload') return [summary, start];
  return [`Syntax error: ${summary}`, start];
}

function evalMessage(cause: unknown): string {
  const { code, summary, message } = cause as CelError;
  const text = summary ?? message ?? String(cause);
  switch (code) {
    case 'no_such_key':
      return text.replace(/^No such key/, 'no such key');
    case 'index_out_of_bounds':
      return `index out of bounds: ${/index (-?\d+)/.exec(text)?.[1] ?? ''}`;
    case 'numeric_overflow':
      return 'integer overflow';
    case 'no_such_overload':
    case 'no_matching_overload':
      return 'no such overload';
    default:
      return text;
  }
}
