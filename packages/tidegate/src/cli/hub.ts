import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIP, isIPv6 } from 'node:net';
import { join, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type ClusterConfig, loadConfig } from '@tidegate/kube';
import { Command, InvalidArgumentError, Option } from 'commander';
import pino from 'pino';
import type { Hub, HubOptions } from '../hub/index.ts';
import { logLevelOption, parsePort } from './options.ts';
import { CommandError, fail, untilStopped } from './process.ts';
import { packageVersion } from './version.ts';

interface Options {
  node: string;
  kubeconfig?: string;
  bootstrapKubeconfig?: string;
  server: string[];
  lbMode: HubOptions['lbMode'];
  state: string;
  hubAddress: string;
  bindAddress: string;
  port: number;
  securePort: number;
  adminPort: number;
  socket?: string;
  disableResourceFilters: string[];
  disabledResourceFilters: string[];
  tlsCertFile?: string;
  tlsPrivateKeyFile?: string;
  clientCaFile?: string;
  logLevel: string;
}

export function hubCommand(): Command {
  return new Command('hub')
    .description(
      'run the hub of a node: everything there reaches the API servers through it, with or without a link',
    )
    .requiredOption('--node <name>', 'the node that it stands on')
    .option('--kubeconfig <file>', "the node's way to the API server, and its credentials")
    .option(
      '--bootstrap-kubeconfig <file>',
      'used where --kubeconfig is not there yet, to ask for credentials',
    )
    .addOption(
      new Option('--server <url>', 'another API server of the cluster; may be given several times')
        .argParser(addServer)
        .default([], 'none'),
    )
    .addOption(
      new Option('--lb-mode <mode>', 'of several API servers: in turn, or the first that answers')
        .choices(['rr', 'priority'])
        .default('rr'),
    )
    .option('--state <dir>', 'where all is kept that it needs without a link', '/var/lib/tidegate/hub')
    .option(
      '--hub-address <address>',
      'where pods and kube-proxy find it; made when root',
      parseAddress,
      '169.254.2.1',
    )
    .option('--bind-address <address>', 'where programs of the node find it', parseAddress, '127.0.0.1')
    .option('--port <number>', 'port for http, on the bind address', parsePort, 10261)
    .option('--secure-port <number>', 'port for https, on both addresses', parsePort, 10268)
    .option('--admin-port <number>', 'port for health, metrics and what it knows', parsePort, 10267)
    .option(
      '--socket <file>',
      'who may open it speaks as the node (default: hub.sock in the state directory)',
    )
    .addOption(
      filtersOption(
        '--disable-resource-filters <names>',
        'filters that are not wanted, also as --disabled-resource-filters; * is all',
      ),
    )
    .addOption(filtersOption('--disabled-resource-filters <names>', 'the same').hideHelp())
    .option('--tls-cert-file <file>', 'its serving certificate (default: the cluster signs one)')
    .option('--tls-private-key-file <file>', 'the key of it')
    .option(
      '--client-ca-file <file>',
      "who signs the certificates of nodes (default: the kubeconfig's authority)",
    )
    .addOption(logLevelOption('how much is logged', 'info'))
    .addHelpText(
      'after',
      `
The admin port has /v1/readyz, /metrics, /v1/views, /v1/filters, /v1/journal and /v1/upstreams; with ?output=text they
are tables.

Examples:
  tidegate hub --node shop-1 --kubeconfig /etc/kubernetes/kubelet.conf
  tidegate hub --node shop-1 --bootstrap-kubeconfig /etc/kubernetes/bootstrap-kubelet.conf --server https://10.0.0.2:6443
  curl '127.0.0.1:10267/v1/views?output=text'`,
    )
    .action(run);
}

function filtersOption(flags: string, description: string): Option {
  const split = (text: string, before: string[]): string[] => [
    ...before,
    ...text.split(',').map((name) => name.trim()),
  ];
  return new Option(flags, description).argParser(split).default([], 'none');
}

function addServer(text: string, servers: string[]): string[] {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('it must begin with https://');
  return [...servers, text.replace(/\/+$/, '')];
}

function parseAddress(text: string): string {
  if (isIP(text) === 0) throw new InvalidArgumentError('it must be an IP address.');
  return text;
}

async function run(options: Options): Promise<void> {
  const stopped = untilStopped();
  preferSmall();
  try {
    const { startHub } = await import('../hub/index.ts');
    const hub = await startHub(await hubOptions(options));
    try {
      console.log(`The hub of ${options.node} is at ${addresses(options, hub.ports)}.`);
      process.send?.('ready');
      await stopped;
    } finally {
      await hub.close();
    }
  } catch (error) {
    fail(error);
  }
}

/**
 * A node has other uses for its memory. Collecting garbage early saves 10 MB, for a tenth more CPU in a get and twice as
 * much where a list is filtered for the first time. Optimizing undici's HTTP parser would take 35 MB for a moment, and
 * gains less than can be told from the noise.
 */
function preferSmall(): void {
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--liftoff-only');
}

async function hubOptions(options: Options): Promise<HubOptions> {
  const stateDirectory = resolve(options.state);
  const config = await clusterConfig(options);
  return {
    nodeName: options.node,
    ...config,
    servers: [...new Set([config.config.server, ...options.server])],
    lbMode: options.lbMode,
    stateDirectory,
    hubAddress: options.hubAddress,
    bindAddress: options.bindAddress,
    port: options.port,
    securePort: options.securePort,
    adminPort: options.adminPort,
    socket: options.socket === undefined ? join(stateDirectory, 'hub.sock') : resolve(options.socket),
    disabledFilters: [...options.disableResourceFilters, ...options.disabledResourceFilters],
    tls: tlsFiles(options),
    clientCa: await clientCa(options, config.config),
    version: packageVersion(),
    log: pino({ level: options.logLevel }, pino.destination(2)),
  };
}

/** As a kubelet: who has a kubeconfig needs no bootstrap. */
async function clusterConfig({
  kubeconfig,
  bootstrapKubeconfig,
}: Options): Promise<Pick<HubOptions, 'config' | 'bootstrap'>> {
  if (kubeconfig === undefined && bootstrapKubeconfig === undefined)
    throw new CommandError(
      'say how to reach the API server: --kubeconfig, or --bootstrap-kubeconfig for a new node.',
    );
  const load = (path: string): Promise<ClusterConfig> => loadConfig({ path, env: process.env });
  if (bootstrapKubeconfig === undefined || (kubeconfig !== undefined && existsSync(kubeconfig)))
    return { config: await load(kubeconfig ?? '') };
  const bootstrap = await load(bootstrapKubeconfig);
  return { config: bootstrap, bootstrap };
}

function tlsFiles({ tlsCertFile, tlsPrivateKeyFile }: Options): HubOptions['tls'] {
  if (tlsCertFile === undefined && tlsPrivateKeyFile === undefined) return undefined;
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined)
    throw new CommandError('--tls-cert-file and --tls-private-key-file are needed together.');
  return { cert: resolve(tlsCertFile), key: resolve(tlsPrivateKeyFile) };
}

async function clientCa({ clientCaFile }: Options, { ca }: ClusterConfig): Promise<string> {
  if (clientCaFile === undefined) {
    if (ca !== undefined) return ca;
    throw new CommandError(
      'the kubeconfig has no certificate-authority, so the hub can not tell who is a node; name it with --client-ca-file.',
    );
  }
  try {
    return await readFile(clientCaFile, 'utf8');
  } catch (cause) {
    throw new CommandError(`can not read --client-ca-file: ${(cause as Error).message}`, { cause });
  }
}

function addresses({ hubAddress, bindAddress }: Options, ports: Hub['ports']): string {
  const url = (scheme: string, host: string, port: number): string =>
    `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const urls = [
    url('https', hubAddress, ports.hubHttps),
    url('https', bindAddress, ports.https),
    url('http', bindAddress, ports.http),
  ];
  return `${[...new Set(urls)].join(', ')}; admin at ${url('http', bindAddress, ports.admin)}`;
}
