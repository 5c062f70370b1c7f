/** Compiles CEL expressions and reports errors in the words of cel-go. */
import type { Environment } from '@marcbachmann/cel-js';
import { type Budget, meterOf } from './cost.ts';
import { literalIssues } from './literal-errors.ts';
import { type CelError, type Issue, syntaxIssues } from './syntax-errors.ts';
import { typeIssue } from './type-errors.ts';

export interface Program {
  /** Throws EvaluationError, also if the expression costs too much. What it costs is taken from the budget. */
  evaluate(variables: Record<string, unknown>, budget?: Budget): unknown;
  /** The type of the result as far as it is known, for example `bool`, `string` or `dyn`. */
  type: string;
}

/** The expression is not valid. */
export class CompileError extends Error {
  override readonly name = 'CompileError';
}

/** The expression cannot be evaluated for these values. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
}

/**
 * Checks the expression against the declared variables and compiles it. Throws a CompileError with all issues. The
 * cost of an expression is limited when it is evaluated, but not estimated before, unlike in kube-apiserver.
 */
export function compile(expression: string, environment: Environment): Program {
  const checked = environment.check(expression);
  const issues = checked.valid
    ? literalIssues(expression, environment)
    : issuesOf(expression, checked.error ?? {}, environment);
  if (issues.length > 0) throw new CompileError(describe(expression, issues));
  const run = environment.parse(withRe2(expression));
  const meter = meterOf(environment, run.ast);
  return {
    type: checked.type ?? 'dyn',
    evaluate(variables, budget) {
      try {
        return meter(() => run(variables), budget);
      } catch (cause) {
        throw new EvaluationError(evalMessage(cause), { cause });
      }
    },
  };
}

/** Matches string literals first, so that `matches` and `oldSelf` inside a literal are not found. */
const STRING_OR =
  /(r?(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))|(\.\s*)matches(\s*\()|\b(oldSelf)\b/gi;

/** The library's `matches` uses JavaScript patterns, which can take exponential time and differ from RE2. */
const withRe2 = (expression: string): string =>
  expression.replace(
    STRING_OR,
    (whole, text: string | undefined, dot: string | undefined, paren: string | undefined) =>
      text === undefined && dot !== undefined ? `${dot}re2matches${paren}` : whole,
  );

/** A rule that uses `oldSelf` is a transition rule: it applies only to updates, unless `optionalOldSelf` is set. */
export const usesOldSelf = (expression: string): boolean =>
  [...expression.matchAll(STRING_OR)].some((match) => match[4] === 'oldSelf');

function issuesOf(expression: string, error: CelError, environment: Environment): Issue[] {
  const recheck = (mended: string): CelError | undefined => environment.check(mended).error;
  return (
    syntaxIssues(expression, error, recheck) ?? [
      typeIssue(expression, error, new Set(environment.getDefinitions().functions.map(({ name }) => name))),
    ]
  );
}

/** Formats each issue with its source line and a mark below the column, as kube-apiserver does. */
function describe(expression: string, issues: Issue[]): string {
  const shown = issues.map(({ message, offset }) => {
    const before = expression.slice(0, offset).split('\n');
    const column = before.at(-1)?.length ?? 0;
    const text = expression.split('\n')[before.length - 1] ?? '';
    return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${text}\n | ${'.'.repeat(column)}^`;
  });
  return `compilation failed: ${shown.join('\n')}`;
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
