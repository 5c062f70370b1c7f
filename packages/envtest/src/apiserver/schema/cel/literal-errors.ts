/** Checks literal patterns, durations and timestamps in an expression at compile time. */

import type { Environment } from '@marcbachmann/cel-js';
import { ownField } from '@tidegate/kube';
import { regexp } from '../regexp.ts';
import type { Issue } from './syntax-errors.ts';
import { isString, type Token, tokensOf } from './tokens.ts';

/** Functions with one string argument that is checked, and whether they are methods. */
const CHECKED: Readonly<Record<string, { method: boolean }>> = {
  matches: { method: true },
  duration: { method: false },
  timestamp: { method: false },
};

export function literalIssues(expression: string, environment: Environment): Issue[] {
  const tokens = tokensOf(expression);
  return tokens.flatMap((token, index) => {
    const [open, literal, close] = tokens.slice(index + 1, index + 4);
    const isMethod = tokens[index - 1]?.text === '.';
    if (ownField(CHECKED, token.text)?.method !== isMethod || open?.text !== '(' || close?.text !== ')')
      return [];
    if (literal === undefined || !isString(literal) || isSound(token.text, literal, environment)) return [];
    return [{ message: `invalid ${token.text} argument`, offset: literal.start }];
  });
}

function isSound(call: string, { text }: Token, environment: Environment): boolean {
  try {
    if (call === 'matches') regexp(String(environment.evaluate(text)));
    else environment.evaluate(`${call}(${text})`);
    return true;
  } catch {
    return false;
  }
}
