import { inspect } from 'node:util';
import type { Logger } from '@tidegate/kube';

/** A logger that keeps all lines as text. */
export function linesLogger(lines: string[] = []): Logger & { lines: string[] } {
  const keep = (fields: object, message: string): void => {
    lines.push(`${message} ${inspect(fields, { depth: 6 })}`);
  };
  return { lines, debug: keep, info: keep, warn: keep, error: keep, child: () => linesLogger(lines) };
}
