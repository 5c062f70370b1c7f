import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type ClusterConfig, loadConfig } from '@tidegate/kube';
import { Command, InvalidArgumentError, Option } from 'commander';
import { ownUpstream } from '../enroll/index.ts';
import type { Hub, HubOptions } from '../hub/index.ts';
import { createLog } from './create-log.ts';
import { hubInstallCommand, hubUninstallCommand } from './hub-node.ts';
import { logLevelOption, parseAddress, parsePort } from './options.ts';
import { packageVersion } from './package-files.ts';
import { CommandError, fail, untilStopped } from './process.ts';

interface Options {
  nodeName?: string;
  kubeconfig?: string;
  bootstrapKubeconfig?: string;
  server: string[];
  lbMode: HubOptions['lbMode'];
  state: string;
  hubAddress: string;
  bindAddress: string;
  httpPort: number;
  httpsPort: number;
  adminPort: number;
  groupPort: number;
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
    .enablePositionalOptions()
    .description(
      'Run the hub of a node: a proxy to the API servers that also serves while they are unreachable',
    )
    .option('--node-name <name>', 'name of the node that the hub runs on (required)')
    .option('--kubeconfig <file>', 'kubeconfig file with the API server and the credentials of the node')
    .option(
      '--bootstrap-kubeconfig <file>',
      'kubeconfig file to request credentials with, while the file of --kubeconfig does not exist',
    )
    .addOption(
      new Option('--server <url>', 'additional API server of the cluster (repeatable)')
        .argParser(addServer)
        .default([], 'none'),
    )
    .addOption(
      new Option(
        '--lb-mode <mode>',
        'how to choose among several API servers: round robin, or the first healthy one',
      )
        .choices(['rr', 'priority'])
        .default('rr'),
    )
    .option(
      '--state <dir>',
      'state directory: cached objects, journal and credentials',
      '/var/lib/tidegate/hub',
    )
    .option(
      '--hub-address <address>',
      'address for pods and kube-proxy; created on the host if the hub runs as root',
      parseAddress,
      '169.254.2.1',
    )
    .option(
      '--bind-address <address>',
      'address to listen on, for programs of the node',
      parseAddress,
      '127.0.0.1',
    )
    .option('--http-port <number>', 'port for HTTP, on the bind address', parsePort, 10261)
    .option(
      '--https-port <number>',
      'port for HTTPS, on the bind address and the hub address',
      parsePort,
      10268,
    )
    .option(
      '--admin-port <number>',
      'port of health checks, metrics and diagnostics, on the bind address',
      parsePort,
      10267,
    )
    .option(
      '--group-port <number>',
      'port for the other hubs of the pool, on the address of the node; the same on all nodes; 0: none',
      parsePort,
      10269,
    )
    .option(
      '--socket <file>',
      'unix socket; any process that can open it is authenticated as the node (default: hub.sock in the state directory)',
    )
    .addOption(
      filtersOption(
        '--disable-resource-filters <names>',
        'comma-separated filters to disable; * disables all (alias: --disabled-resource-filters)',
      ),
    )
    .addOption(
      filtersOption('--disabled-resource-filters <names>', 'alias of --disable-resource-filters').hideHelp(),
    )
    .option('--tls-cert-file <file>', 'serving certificate (default: requested from the cluster)')
    .option('--tls-private-key-file <file>', 'private key of the serving certificate')
    .option(
      '--client-ca-file <file>',
      'certificate authority of node client certificates (default: certificate-authority of the kubeconfig)',
    )
    .addOption(logLevelOption(undefined, 'info'))
    .addHelpText(
      'after',
      `
The admin port serves /v1/readyz, /metrics, /v1/views, /v1/filters, /v1/journal and /v1/upstreams. Add ?output=text to
the paths with /v1/ to get tables. The port shows numbers only; the names of clients and objects are on hub-admin.sock,
next to hub.sock.

Examples:
  tidegate hub --node-name shop-1 --kubeconfig /etc/kubernetes/kubelet.conf
  tidegate hub --node-name shop-1 --bootstrap-kubeconfig /etc/kubernetes/bootstrap-kubelet.conf --server https://10.0.0.2:6443
  curl --unix-socket /var/lib/tidegate/hub/hub-admin.sock 'http://hub/v1/views?output=text'`,
    )
    .addCommand(hubInstallCommand())
    .addCommand(hubUninstallCommand())
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
    throw new InvalidArgumentError('Use a URL that starts with https:// or http://.');
  return [...servers, text.replace(/\/+$/, '')];
}

async function run(options: Options): Promise<void> {
  const stopped = untilStopped();
  preferLowMemory();
  try {
    const { startHub } = await import('../hub/index.ts');
    const hub = await startHub(await hubOptions(options));
    try {
      console.log(`Hub of node ${options.nodeName} listens on ${addresses(options, hub.ports)}.`);
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
 * Edge nodes have little memory. `--optimize-for-size` collects garbage early and saves 10 MB, at the cost of 10 % more CPU
 * for a get and twice as much for the first time a list is filtered. `--liftoff-only` prevents the optimization of
 * undici's WebAssembly HTTP parser, which would need 35 MB for a moment without a measurable gain.
 */
function preferLowMemory(): void {
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--liftoff-only');
}

async function hubOptions(options: Options): Promise<HubOptions> {
  const { nodeName } = options;
  if (nodeName === undefined) throw new CommandError('set --node-name to the name of this node');
  const stateDirectory = resolve(options.state);
  const config = await clusterConfig(options);
  const servers = [...new Set([config.config.server, ...options.server])];
  const own = ownUpstream(servers, options);
  if (own !== undefined)
    throw new CommandError(
      `${own} is this hub itself, not an API server: every request would come back to the hub. Set the server in ${options.kubeconfig ?? options.bootstrapKubeconfig}, or --server, to the API server of the cluster`,
    );
  return {
    nodeName,
    ...config,
    servers,
    lbMode: options.lbMode,
    stateDirectory,
    hubAddress: options.hubAddress,
    bindAddress: options.bindAddress,
    httpPort: options.httpPort,
    httpsPort: options.httpsPort,
    adminPort: options.adminPort,
    ...(options.groupPort === 0 ? {} : { groupPort: options.groupPort }),
    socket: options.socket === undefined ? join(stateDirectory, 'hub.sock') : resolve(options.socket),
    disabledFilters: [...options.disableResourceFilters, ...options.disabledResourceFilters],
    tls: tlsFiles(options),
    clientCa: await clientCa(options, config.config),
    version: packageVersion(),
    log: createLog(options.logLevel),
  };
}

/** As in the kubelet, the bootstrap kubeconfig is used only while the kubeconfig does not exist. */
async function clusterConfig({
  kubeconfig,
  bootstrapKubeconfig,
}: Options): Promise<Pick<HubOptions, 'config' | 'bootstrap'>> {
  if (kubeconfig === undefined && bootstrapKubeconfig === undefined)
    throw new CommandError('set --kubeconfig, or --bootstrap-kubeconfig for a new node');
  const load = (path: string): Promise<ClusterConfig> => loadConfig({ path, env: process.env });
  if (bootstrapKubeconfig === undefined || (kubeconfig !== undefined && existsSync(kubeconfig)))
    return { config: await load(kubeconfig ?? '') };
  const bootstrap = await load(bootstrapKubeconfig);
  return { config: bootstrap, bootstrap };
}

function tlsFiles({ tlsCertFile, tlsPrivateKeyFile }: Options): HubOptions['tls'] {
  if (tlsCertFile === undefined && tlsPrivateKeyFile === undefined) return undefined;
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined)
    throw new CommandError('set both --tls-cert-file and --tls-private-key-file, or neither');
  return { cert: resolve(tlsCertFile), key: resolve(tlsPrivateKeyFile) };
}

async function clientCa({ clientCaFile }: Options, { ca }: ClusterConfig): Promise<string> {
  if (clientCaFile === undefined) {
    if (ca !== undefined) return ca;
    throw new CommandError(
      'the kubeconfig has no certificate-authority, which the hub needs to verify client certificates of nodes; set --client-ca-file',
    );
  }
  try {
    return await readFile(clientCaFile, 'utf8');
  } catch (cause) {
    throw new CommandError(`cannot read --client-ca-file: ${(cause as Error).message}`, { cause });
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
