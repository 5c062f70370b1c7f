/** String functions: the strings extension of cel-go, and regular expressions with RE2. */
import type { Environment } from '@marcbachmann/cel-js';
import { matches, regexp } from '../../regexp.ts';
import { formatString } from './format-string.ts';

export function registerStrings(environment: Environment): void {
  environment
    .registerFunction('string.charAt(int): string', (text: string, index: bigint) => {
      if (index < 0n || index > BigInt(text.length)) throw new Error(`index out of range: ${index}`);
      return text.charAt(Number(index));
    })
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
      text.replaceAll(from, () => to),
    )
    .registerFunction(
      'string.replace(string, string, int): string',
      (text: string, from: string, to: string, limit: bigint) => replaceFirst(text, from, to, limit),
    )
    .registerFunction('string.reverse(): string', (text: string) => [...text].reverse().join(''))
    .registerFunction('string.format(list): string', (text: string, args: unknown[]) =>
      formatString(text, args),
    )
    // Takes the place of the built-in `matches`, see compile.ts.
    .registerFunction('string.re2matches(string): bool', (text: string, pattern: string) =>
      matches(pattern, text),
    )
    .registerFunction('matches(string, string): bool', (text: string, pattern: string) =>
      matches(pattern, text),
    )
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => findAll(text, pattern, 1)[0] ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
      findAll(text, pattern, Number.POSITIVE_INFINITY),
    )
    .registerFunction(
      'string.findAll(string, int): list<string>',
      (text: string, pattern: string, limit: bigint) =>
        findAll(text, pattern, limit < 0n ? Number.POSITIVE_INFINITY : Number(limit)),
    );
}

function replaceFirst(text: string, from: string, to: string, limit: bigint): string {
  const parts = text.split(from);
  const keep = limit < 0n ? parts.length - 1 : Math.min(Number(limit), parts.length - 1);
  const rest = parts.slice(keep).join(from);
  return [...parts.slice(0, keep), rest].join(to);
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const matcher = regexp(pattern).matcher(text);
  const found: string[] = [];
  while (found.length < limit && matcher.find()) found.push(matcher.group() ?? '');
  return found;
}
