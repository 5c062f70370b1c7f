import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { quotePath } from '@tidegate/disk';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Address, Models, Side, TestRequest } from '../migrate/index.ts';
import { readMigrationObjects } from './migrate-objects.ts';
import { type MigrationFlags, withSelection } from './migrate-selection.ts';
import { outputOption, parseDuration } from './options.ts';
import { CommandError, fail, stopSignal } from './process.ts';

interface Options extends MigrationFlags {
  old: Target;
  new: Target;
  oldHttps?: Address;
  newHttps?: Address;
  fromAccessLog?: string;
  host?: string;
  method: string[];
  ignore: string[];
  accept: string[];
  concurrency: number;
  timeout: number;
  routes: boolean;
  all?: true;
  output?: 'json';
}

/** An address; with the port only if the user has written it. */
interface Target {
  readonly address: string;
  readonly port?: number;
}

export function verifyCommand(): Command {
  return withSelection(
    new Command('verify').description('Send the same requests to ingress-nginx and to Tidegate, and compare'),
  )
    .requiredOption(
      '--old <address>',
      'address of ingress-nginx, for example 192.0.2.1 or 192.0.2.1:8080',
      parseTarget,
    )
    .requiredOption('--new <address>', 'address of the router of Tidegate', parseTarget)
    .option(
      '--old-https <address:port>',
      'HTTPS of ingress-nginx (default: port 443, if --old has no port)',
      parsePair,
    )
    .option(
      '--new-https <address:port>',
      'HTTPS of Tidegate (default: port 443, if --new has no port)',
      parsePair,
    )
    .option('--from-access-log <file>', 'also send the requests of this access log; - reads standard input')
    .option('--no-routes', 'send only the requests of the access log')
    .option('--host <name>', 'host of the access log, if its lines do not show it')
    .option(
      '--method <name>',
      'also send this method; it may change data at both (repeatable; default: GET, HEAD, OPTIONS)',
      (name: string, before: string[]) => [...before, name.toUpperCase()],
      [],
    )
    .option('--ignore <part>', 'header, body or certificate that is not compared (repeatable)', collect, [])
    .option(
      '--accept <rule>',
      'rule whose differences do not count, for example trailingSlash (repeatable)',
      collect,
      [],
    )
    .addOption(
      new Option('--concurrency <count>', 'requests at the same time').argParser(parseCount).default(4),
    )
    .addOption(
      new Option('--timeout <duration>', 'time for a response')
        .argParser(parseDuration)
        .default(10_000, '10s'),
    )
    .option('--all', 'list all differences')
    .addOption(outputOption())
    .addHelpText('after', HELP)
    .action(run);
}

const HELP = `
Requests are derived from the Ingresses: each path, its neighbors, slashes, cases and spellings, methods, headers that
annotations look at, and for hosts with TLS over HTTPS with their names. Status, headers, the digest of the body and the
certificate are compared, and each difference is explained by a rule. Parts that the old controller answers differently each
time are left out. Different bodies of errors and redirects (rule ownResponse) do not count.

Exit status: 0 if all responses are the same or accepted, 2 if some differ, 1 if a request had no response or the command failed.

Examples:
  tidegate migrate verify --old 192.0.2.1 --new 192.0.2.2
  tidegate migrate verify --old 192.0.2.1 --new 192.0.2.2 --accept normalization --ignore x-served-by
  tidegate migrate verify --old 192.0.2.1 --new 192.0.2.2 --from-access-log access.log --no-routes`;

const collect = (value: string, before: string[]): string[] => [...before, value];

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 100)
    throw new InvalidArgumentError('Use a whole number from 1 to 100.');
  return count;
}

function parseTarget(text: string): Target {
  if (isIPv6(text)) return { address: text };
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:/\s]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const address = bracketed ?? plain;
  if (address === undefined || Number(port ?? 1) < 1 || Number(port ?? 1) > 65535)
    throw new InvalidArgumentError(
      'Use an address with or without a port, for example 192.0.2.1 or 192.0.2.1:8080.',
    );
  return { address, ...(port !== undefined && { port: Number(port) }) };
}

function parsePair(text: string): Address {
  const { address, port } = parseTarget(text);
  if (port === undefined) throw new InvalidArgumentError('Add a port, for example 192.0.2.1:8443.');
  return { address, port };
}

const sideOf = ({ address, port }: Target, https: Address | undefined): Side => ({
  http: { address, port: port ?? 80 },
  https: https ?? (port === undefined ? { address, port: 443 } : undefined),
});

async function run(options: Options): Promise<void> {
  const signal = stopSignal();
  try {
    const { modelsOf, verificationText, verify } = await import('../migrate/index.ts');
    const objects = await readMigrationObjects(options);
    const { ingressClass: classNames, controller } = options;
    const models = modelsOf(objects, { classNames, controller }, Date.now());
    if (models === undefined)
      throw new CommandError(`no Ingress of ingress-nginx found; name its class with --ingress-class`);
    const [old, now] = [sideOf(options.old, options.oldHttps), sideOf(options.new, options.newHttps)];
    const all = await requestsOf(models, options);
    const requests = all.filter(({ secure }) => !secure || (old.https && now.https));
    const leftOut = all.length - requests.length;
    if (leftOut > 0)
      console.error(`tidegate: ${leftOut} requests over HTTPS are left out: add --old-https and --new-https`);
    if (requests.length === 0) throw new CommandError('there is no request to send');
    const result = await verify(requests, {
      old,
      new: now,
      models,
      concurrency: options.concurrency,
      timeoutMs: options.timeout,
      ignored: new Set(options.ignore.map((each) => each.toLowerCase())),
      accepted: new Set(['ownResponse', ...options.accept]),
      signal,
    });
    if (options.output === 'json') console.log(JSON.stringify(result, undefined, 2));
    else console.log(verificationText(result, options.all === true));
    if (result.failures.length > 0) process.exitCode = 1;
    else if (result.findings.some(({ isAccepted }) => !isAccepted)) process.exitCode = 2;
  } catch (error) {
    fail(error);
  }
}

async function requestsOf(models: Models, options: Options): Promise<TestRequest[]> {
  const { READ_ONLY, requestsFor, requestsOfLog } = await import('../migrate/index.ts');
  const methods = [...READ_ONLY, ...options.method];
  const generated = options.routes ? requestsFor(models.ingresses, { methods }) : [];
  if (options.fromAccessLog === undefined) return generated;
  const text = await readLog(options.fromAccessLog);
  const log = requestsOfLog(text.split('\n'), { models, host: options.host, methods });
  const { lines, requests, unreadable, otherMethods, withoutHost } = log;
  console.error(
    `tidegate: access log: ${lines} lines, ${requests.length} different requests; left out: ${unreadable} of another format, ${otherMethods} with another method, ${withoutHost} without a known host`,
  );
  if (withoutHost > 0) console.error('tidegate: name the host of such lines with --host');
  return [...generated, ...requests];
}

async function readLog(path: string): Promise<string> {
  try {
    return await readFile(path === '-' ? '/dev/stdin' : path, 'utf8');
  } catch (error) {
    throw new CommandError(`cannot read ${quotePath(path)}: ${(error as Error).message}`, { cause: error });
  }
}
