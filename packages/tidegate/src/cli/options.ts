import { isIP } from 'node:net';
import { InvalidArgumentError, Option } from 'commander';
import { DEFAULT_STATE } from '../supervisor/caller.ts';

/** Parses a TCP port. 0 is valid and selects a free port. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new InvalidArgumentError('Use a whole number from 0 to 65535.');
  }
  return port;
}

/** Parses a port that has to be known in advance. */
export function parseFixedPort(text: string): number {
  if (parsePort(text) === 0) throw new InvalidArgumentError('Use a whole number from 1 to 65535.');
  return Number(text);
}

/** Parses an IPv4 or IPv6 address. Host names are not valid. */
export function parseAddress(text: string): string {
  if (isIP(text) === 0) throw new InvalidArgumentError('Use an IP address.');
  return text;
}

/** Parses a range of IPv4 addresses that is large enough for Services. */
export function parseRange(text: string): string {
  const [address = '', bits = '', ...rest] = text.split('/');
  const size = /^\d+$/.test(bits) ? Number(bits) : 0;
  if (isIP(address) !== 4 || size < 8 || size > 28 || rest.length > 0) {
    throw new InvalidArgumentError(
      'Use a range of IPv4 addresses with 8 to 28 bits, for example 10.96.0.0/16.',
    );
  }
  return text;
}

export function parseBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('Use true or false.');
  return text === 'true';
}

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Parses a duration in the format of Kubernetes flags, for example `40s`, `500ms` or `1m30s`, to milliseconds. */
export function parseDuration(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const total = parts.reduce((sum, [, count, unit]) => sum + Number(count) * (MILLISECONDS[unit!] ?? 0), 0);
  if (parts.map(([part]) => part).join('') !== text || total <= 0) {
    throw new InvalidArgumentError('Use a duration, for example 40s, 500ms or 1m30s.');
  }
  return total;
}

/** The option `--log-level`. Programs that run in production log at `info`, commands for a local cluster at `warn`. */
export const logLevelOption = (description = 'minimum level of log messages', fallback = 'warn'): Option =>
  new Option('--log-level <level>', description)
    .choices(['debug', 'info', 'warn', 'error'])
    .default(fallback);

/** The option has the name and the meaning of the flag of kube-controller-manager. The value is in milliseconds. */
export const nodeMonitorGracePeriodOption = (): Option =>
  new Option(
    '--node-monitor-grace-period <duration>',
    'time after which an unresponsive node is marked unhealthy',
  )
    .argParser(parseDuration)
    .default(40_000, '40s');

/** The option of all commands for the embedded cluster. */
export const stateOption = (): Option =>
  new Option('--state <dir>', 'state directory of the cluster').default(DEFAULT_STATE);

/** The output option of all commands with machine-readable output. */
export const outputOption = (): Option =>
  new Option('-o, --output <format>', 'output format').choices(['json']);

/** The flags of the option for files, in all commands that read manifests. */
export const FILENAME_FLAGS = '-f, --filename <file>';
