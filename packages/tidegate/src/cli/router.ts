import { isIP, isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { KubeClient, loadConfig, Metrics } from '@tidegate/kube';
import { Command, InvalidArgumentError, Option } from 'commander';
import pino from 'pino';
import { ROUTER_USER_AGENT } from '../api/index.ts';
import type { DataPlane } from '../router/index.ts';
import { logLevelOption, parseDuration, parsePort } from './options.ts';
import { CommandError, fail, untilStopped } from './process.ts';
import { packageVersion } from './version.ts';

interface Options {
  class: string[];
  router?: string;
  pool?: string;
  dataplane: DataPlane;
  kubeconfig?: string;
  address: string;
  httpPort: number;
  httpsPort: number;
  adminPort: number;
  state: string;
  accessLog?: string;
  notice: number;
  drain: number;
  logLevel: string;
}

/** As those who come from ingress-nginx know them. Ingresses may ask for others. */
const DEFAULTS = { connectTimeoutMs: 5_000, readTimeoutMs: 60_000, maxBodyBytes: 1024 * 1024 };

export function routerCommand(): Command {
  return new Command('router')
    .description('carry the traffic of the Ingresses of a class: a data plane, and what tells it the routes')
    .addOption(
      new Option('--class <name>', 'the IngressClass; may be given several times')
        .argParser((name: string, before: string[] | undefined) => [...(before ?? []), name])
        .makeOptionMandatory(),
    )
    .option('--router <name>', 'the L7Router that says which hosts are here (default: all of the class)')
    .option('--pool <name>', 'use only endpoints on nodes of this pool')
    .addOption(
      new Option('--dataplane <name>', 'what carries the bytes; auto is nginx where it is installed')
        .choices(['auto', 'nginx', 'embedded'])
        .default('auto'),
    )
    .option('--kubeconfig <file>', 'how to reach the API server (default: as kubectl; in a pod, its account)')
    .option('--address <address>', 'where to listen', parseAddress, '0.0.0.0')
    .option('--http-port <number>', 'port for http; 0 takes any free one', parsePort, 80)
    .option('--https-port <number>', 'port for https; 0 takes any free one', parsePort, 443)
    .option('--admin-port <number>', 'port of /healthz, /readyz and /metrics', parsePort, 10254)
    .option(
      '--state <dir>',
      'where all is kept that a start without API server needs',
      '/var/lib/tidegate/router',
    )
    .option('--access-log <file>', 'a line of JSON for each request, such as to /dev/stdout (default: none)')
    .addOption(
      new Option(
        '--notice <duration>',
        'how long others may take to notice that it stops, before it takes no more',
      )
        .argParser(parseDuration)
        .default(5_000, '5s'),
    )
    .addOption(
      new Option('--drain <duration>', 'how long requests may take to end then')
        .argParser(parseDuration)
        .default(20_000, '20s'),
    )
    .addOption(logLevelOption('how much is logged', 'info'))
    .addHelpText(
      'after',
      `
In a pod, the variable POD_NAME says which one it is; elsewhere it is known by the name of its host.

Examples:
  tidegate router --class gold --kubeconfig ~/.kube/config
  tidegate router --class gold --router gold-2 --pool hangzhou --access-log /dev/stdout   # in a pod
  tidegate router --class gold --address 127.0.0.1 --http-port 8080 --https-port 8443 --state ./router`,
    )
    .action(run);
}

function parseAddress(text: string): string {
  if (isIP(text) === 0) throw new InvalidArgumentError('it must be an IP address.');
  return text;
}

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  const log = pino({ level: options.logLevel }, pino.destination(2));
  try {
    const { chooseDriver, runRouter } = await import('../router/index.ts');
    const config = await loadConfig({ path: options.kubeconfig, env: process.env });
    const client = new KubeClient(config, {
      userAgent: `${ROUTER_USER_AGENT}/${packageVersion()}`,
      log,
    });
    const { address, httpPort, httpsPort, accessLog, class: classNames, router, pool } = options;
    const stateDirectory = resolve(options.state);
    const className = classNames.join(',');
    const directory = join(stateDirectory, 'dataplane');
    const metrics = new Metrics();
    const driver = await chooseDriver(
      options.dataplane,
      { address, httpPort, httpsPort, directory, className, defaults: DEFAULTS, accessLog },
      { log, metrics },
    );
    try {
      await runRouter({
        client,
        driver,
        classNames,
        router,
        pool,
        agentName: process.env.POD_NAME ?? hostname(),
        stateDirectory,
        admin: { host: address, port: options.adminPort },
        noticeMs: options.notice,
        drainMs: options.drain,
        log,
        metrics,
        signal: stop.signal,
        onListening: (ports) => {
          const at = (scheme: string, port: number): string =>
            `${scheme}://${isIPv6(address) ? `[${address}]` : address}:${port}`;
          const urls = `${at('http', ports.http)} and ${at('https', ports.https)}`;
          console.log(`The router of ${className} is at ${urls}; admin at ${at('http', ports.admin)}.`);
          process.send?.('ready');
        },
      });
    } finally {
      await client.close();
    }
  } catch (error) {
    fail(explained(error, options));
  }
}

function explained(error: unknown, { address, httpPort, httpsPort, adminPort }: Options): unknown {
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRNOTAVAIL')
    return new CommandError(`this machine has no address ${address}; choose another with --address.`, {
      cause: error,
    });
  const options = new Map([
    [httpPort, '--http-port'],
    [httpsPort, '--https-port'],
    [adminPort, '--admin-port'],
  ]);
  const option = options.get(port ?? -1);
  if (option === undefined || (code !== 'EADDRINUSE' && code !== 'EACCES')) return error;
  const why = code === 'EACCES' ? 'needs more rights than this program has' : 'is in use by another program';
  return new CommandError(`port ${port} ${why}; choose another with ${option} (0 takes any free one).`, {
    cause: error,
  });
}
