import { InvalidArgumentError, Option } from 'commander';

export function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new InvalidArgumentError('it must be a whole number from 0 to 65535.');
  }
  return port;
}

export function parseBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('it must be true or false.');
  return text === 'true';
}

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `40s`, `500ms`, `1m30s`, as Kubernetes' own flags take them. Returns milliseconds. */
export function parseDuration(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const total = parts.reduce((sum, [, count, unit]) => sum + Number(count) * (MILLISECONDS[unit!] ?? 0), 0);
  if (parts.map(([part]) => part).join('') !== text || total <= 0) {
    throw new InvalidArgumentError('it must be a time such as 40s, 500ms or 1m30s.');
  }
  return total;
}

export const logLevelOption = (description = 'how much is logged', fallback = 'warn'): Option =>
  new Option('--log-level <level>', description)
    .choices(['debug', 'info', 'warn', 'error'])
    .default(fallback);

export const nodeGraceOption = (): Option =>
  new Option('--node-grace <duration>', 'how long a silent node counts as ready')
    .argParser(parseDuration)
    .default(40_000, '40s');
