import { isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { KubeClient, Metrics } from '@tidegate/kube';
import { Command, InvalidArgumentError, Option } from 'commander';
import { METRICS_PREFIX, ROUTER_USER_AGENT } from '../api/index.ts';
import type { DataPlane } from '../router/index.ts';
import { type ClusterFlags, clusterConfig, contextOption, kubeconfigOption } from './cluster-client.ts';
import { createLog } from './create-log.ts';
import { logLevelOption, parseAddress, parseDuration, parsePort } from './options.ts';
import { packageVersion } from './package-files.ts';
import { CommandError, fail, untilStopped } from './process.ts';

interface Options extends ClusterFlags {
  class?: string[];
  sharedPods?: string;
  router?: string;
  routerUid?: string;
  pool?: string;
  dataPlane: DataPlane;
  bindAddress: string;
  httpPort: number;
  httpsPort: number;
  adminPort: number;
  state: string;
  accessLog?: string;
  proxyProtocol?: boolean;
  shutdownDelay: number;
  drainTimeout: number;
  logLevel: string;
}

/** The defaults of ingress-nginx. Annotations of an Ingress override them. */
const DEFAULTS = { connectTimeoutMs: 5_000, readTimeoutMs: 60_000, maxBodyBytes: 1024 * 1024 };

export function routerCommand(): Command {
  return new Command('router')
    .description('Run a router for the Ingresses of a class: a data plane and the agent that configures it')
    .addOption(
      new Option('--class <name>', 'IngressClass to serve (repeatable)').argParser(
        (name: string, before: string[] | undefined) => [...(before ?? []), name],
      ),
    )
    .addOption(
      new Option(
        '--shared-pods <name>',
        'serve all L7Routers whose spec.workload.sharedPods is this name, each on ports of its own',
      ).conflicts(['class', 'router', 'routerUid']),
    )
    .option(
      '--router <name>',
      'L7Router that lists the hosts of this router (default: all hosts of the class)',
    )
    .option(
      '--router-uid <uid>',
      'UID of that L7Router; clients that know it can check that they reach this router',
      parseUid,
    )
    .option('--pool <name>', 'use only endpoints on nodes of this pool')
    .addOption(
      new Option('--data-plane <name>', 'data plane; auto selects nginx if it is installed')
        .choices(['auto', 'nginx', 'embedded'])
        .default('auto'),
    )
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option('--bind-address <address>', 'address to listen on', parseAddress, '0.0.0.0')
    .option('--http-port <number>', 'port for HTTP; 0 selects a free port', parsePort, 80)
    .option('--https-port <number>', 'port for HTTPS; 0 selects a free port', parsePort, 443)
    .option(
      '--admin-port <number>',
      'port of /healthz, /readyz and /metrics; 0 selects a free port',
      parsePort,
      10254,
    )
    .option(
      '--state <dir>',
      'state directory: routes and certificates for a start without API server',
      '/var/lib/tidegate/router',
    )
    .option(
      '--access-log <file>',
      'file for an access log with one line of JSON per request, for example /dev/stdout (default: no log)',
    )
    .option(
      '--proxy-protocol',
      'require a header of the PROXY protocol, version 1 or 2, at the start of each connection; its address counts only if the L7Router trusts the proxy (default: no connection has one)',
    )
    .addOption(
      new Option(
        '--shutdown-delay <duration>',
        'time between reporting not ready and closing the listeners on shutdown',
      )
        .argParser(parseDuration)
        .default(5_000, '5s'),
    )
    .addOption(
      new Option('--drain-timeout <duration>', 'maximum time for open requests to finish on shutdown')
        .argParser(parseDuration)
        .default(20_000, '20s'),
    )
    .addOption(logLevelOption(undefined, 'info'))
    .addHelpText(
      'after',
      `
The router reports its status under the name in the environment variable POD_NAME, or else under the host name.

Examples:
  tidegate router --class gold --kubeconfig ~/.kube/config
  tidegate router --class gold --router gold-2 --pool hangzhou --access-log /dev/stdout   # in a pod
  tidegate router --class gold --bind-address 127.0.0.1 --http-port 8080 --https-port 8443 --state ./router`,
    )
    .action(run);
}

function parseUid(text: string): string {
  if (!/^[a-z0-9-]{1,63}$/.test(text))
    throw new InvalidArgumentError('Use the metadata.uid of the L7Router.');
  return text;
}

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  const log = createLog(options.logLevel);
  try {
    const { class: classNames, sharedPods } = options;
    if (classNames === undefined && sharedPods === undefined)
      throw new CommandError('set --class, or --shared-pods for the pods of several L7Routers');
    const config = await clusterConfig(options);
    const client = new KubeClient(config, {
      userAgent: `${ROUTER_USER_AGENT}/${packageVersion()}`,
      log,
    });
    const common: Common = {
      client,
      options,
      metrics: new Metrics({ prefix: METRICS_PREFIX }),
      log,
      signal: stop.signal,
    };
    try {
      if (sharedPods !== undefined) await runShared(sharedPods, common);
      else await runOne(classNames ?? [], common);
    } finally {
      await client.close();
    }
  } catch (error) {
    fail(withFlag(error, options));
  }
}

interface Common {
  client: KubeClient;
  options: Options;
  metrics: Metrics;
  log: ReturnType<typeof createLog>;
  signal: AbortSignal;
}

async function runOne(classNames: readonly string[], common: Common): Promise<void> {
  const { options, log, metrics } = common;
  const { chooseDriver, runRouter } = await import('../router/index.ts');
  const className = classNames.join(',');
  const settings = {
    ...driverSettings(options, className),
    identity: options.routerUid,
    router: options.router,
  };
  const driver = await chooseDriver(options.dataPlane, settings, { log, metrics });
  await runRouter({
    ...settingsOf(common),
    driver,
    classNames,
    router: options.router,
    onListening: (ports) => {
      const urls = `${urlAt(options, 'http', ports.http)} and ${urlAt(options, 'https', ports.https)}`;
      console.log(
        `Router of class ${className} listens on ${urls}; admin at ${urlAt(options, 'http', ports.admin)}.`,
      );
      process.send?.('ready');
    },
  });
}

async function runShared(sharedPods: string, common: Common): Promise<void> {
  const { options, log, metrics } = common;
  const { chooseSectionedDriver, runSharedPods } = await import('../router/index.ts');
  // Each section has the class of its router.
  const settings = driverSettings(options, '');
  const driver = await chooseSectionedDriver(options.dataPlane, settings, { log, metrics });
  await runSharedPods({
    ...settingsOf(common),
    driver,
    sharedPods,
    onListening: ({ admin }) => {
      console.log(
        `Shared pods ${sharedPods} serve their routers; admin at ${urlAt(options, 'http', admin)}.`,
      );
      process.send?.('ready');
    },
  });
}

const driverSettings = (
  { bindAddress: address, httpPort, httpsPort, accessLog, proxyProtocol, state }: Options,
  className: string,
) => ({
  address,
  httpPort,
  httpsPort,
  directory: join(resolve(state), 'dataplane'),
  className,
  defaults: DEFAULTS,
  accessLog,
  proxyProtocol,
});

const settingsOf = ({ client, options, log, metrics, signal }: Common) => ({
  client,
  pool: options.pool,
  agentName: process.env.POD_NAME ?? hostname(),
  stateDirectory: resolve(options.state),
  admin: { host: options.bindAddress, port: options.adminPort },
  noticeMs: options.shutdownDelay,
  drainMs: options.drainTimeout,
  log,
  metrics,
  signal,
});

const urlAt = ({ bindAddress }: Options, scheme: string, port: number): string =>
  `${scheme}://${isIPv6(bindAddress) ? `[${bindAddress}]` : bindAddress}:${port}`;

/** Names the flag that changes the address or port which cannot be used. */
function withFlag(error: unknown, { bindAddress, httpPort, httpsPort, adminPort }: Options): unknown {
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRNOTAVAIL')
    return new CommandError(
      `${bindAddress} is not an address of this host; choose another with --bind-address`,
      {
        cause: error,
      },
    );
  const options = new Map([
    [httpPort, '--http-port'],
    [httpsPort, '--https-port'],
    [adminPort, '--admin-port'],
  ]);
  const option = options.get(port ?? -1);
  if (option === undefined || (code !== 'EADDRINUSE' && code !== 'EACCES')) return error;
  const why = code === 'EACCES' ? 'requires more privileges' : 'is already in use';
  return new CommandError(`port ${port} ${why}; choose another with ${option} (0 selects a free port)`, {
    cause: error,
  });
}
