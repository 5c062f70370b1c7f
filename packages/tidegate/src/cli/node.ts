import { resolve } from 'node:path';
import { makeChosenDirectory } from '@tidegate/disk';
import { KUBERNETES_VERSION } from '@tidegate/envtest/apiserver';
import { KubeClient, type Logger, loadConfig, systemClock } from '@tidegate/kube';
import { Command, InvalidArgumentError, Option } from 'commander';
import { createLog } from './create-log.ts';
import { logLevelOption, parseAddress, parsePort } from './options.ts';
import { packageVersion } from './package-files.ts';
import { CommandError, fail, untilStopped } from './process.ts';

interface Options {
  nodeName: string;
  kubeconfig: string;
  proxyKubeconfig?: string;
  address: string;
  state?: string;
  port: number;
  advertisePort: number;
  label: Record<string, string>;
  images?: string;
  hollow?: true;
  count?: number;
  logLevel: string;
}

export function nodeCommand(): Command {
  return new Command('node')
    .description('Run a node of the embedded cluster, with pods as local processes')
    .requiredOption('--node-name <name>', 'name of the node')
    .option(
      '--kubeconfig <file>',
      'kubeconfig file of the node agent, which can point to the hub of the node',
      '.tidegate/kubeconfig',
    )
    .option(
      '--proxy-kubeconfig <file>',
      'kubeconfig file of the NodePort proxy (default: that of --kubeconfig)',
    )
    .option('--address <address>', 'address of the node', parseAddress, '127.0.0.1')
    .option(
      '--state <dir>',
      'state directory: pods, logs and addresses (default: .tidegate/nodes/<node name>)',
    )
    .option('--port <number>', 'port of the kubelet API; 0 selects a free port', parsePort, 10251)
    .option(
      '--advertise-port <number>',
      'port at which the API server reaches the kubelet API',
      parsePort,
      10250,
    )
    .addOption(
      new Option('--label <key=value>', 'label for a new node (repeatable)')
        .argParser(addLabel)
        .default({}, 'none'),
    )
    .option('--images <file>', 'table that maps images to commands')
    .option('--hollow', 'run no processes; pods are ready immediately')
    .option('--count <number>', 'with --hollow, number of nodes, named <node name>-1 and so on', parseCount)
    .addOption(logLevelOption())
    .action(run);
}

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  const stopped = untilStopped().then(() => stop.abort());
  const log = createLog(options.logLevel);
  const clients: KubeClient[] = [];
  const open = async (path: string, program: string): Promise<KubeClient> => {
    const config = await loadConfig({ path, env: process.env });
    const userAgent = `${program}/${kubernetesVersion()}`;
    // Each part of the node retries on its own schedule. A request that waits in the client would delay others.
    const client = new KubeClient(config, { userAgent, maxRetries: 0, log });
    clients.push(client);
    return client;
  };
  try {
    if (options.count !== undefined && options.hollow === undefined) {
      throw new CommandError('--count requires --hollow; run `tidegate node` once for each real node');
    }
    const node = await (options.hollow === true ? startHollow : start)(options, open, log, stop.signal);
    process.send?.('ready');
    await stopped;
    await node.close();
  } catch (error) {
    // A stop signal during the start is not an error.
    if (!stop.signal.aborted)
      fail(error, { port: options.port, address: options.address, addressFlag: '--address' });
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

type Open = (path: string, program: string) => Promise<KubeClient>;

async function start(options: Options, open: Open, log: Logger, signal: AbortSignal) {
  const { startAgent } = await import('@tidegate/envtest/node');
  const client = await open(options.kubeconfig, 'kubelet');
  const stateDirectory = resolve(options.state ?? `.tidegate/nodes/${options.nodeName}`);
  makeChosenDirectory(stateDirectory, '--state');
  return startAgent({
    name: options.nodeName,
    client,
    proxyClient: await open(options.proxyKubeconfig ?? options.kubeconfig, 'kube-proxy'),
    address: options.address,
    listenPort: options.port,
    advertisePort: options.advertisePort,
    labels: options.label,
    stateDirectory,
    imagesFile: options.images,
    program: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
    path: process.env.PATH ?? '',
    kubernetesVersion: kubernetesVersion(),
    version: packageVersion(),
    log,
    signal,
  });
}

async function startHollow(options: Options, open: Open, log: Logger, signal: AbortSignal) {
  const { startHollowNodes } = await import('@tidegate/envtest/node');
  return startHollowNodes({
    name: options.nodeName,
    count: options.count,
    client: await open(options.kubeconfig, 'kubelet'),
    labels: options.label,
    kubeletPort: options.advertisePort,
    kubernetesVersion: kubernetesVersion(),
    version: packageVersion(),
    clock: systemClock,
    log,
    signal,
  });
}

function kubernetesVersion(): string {
  const { major, minor, patch } = KUBERNETES_VERSION;
  return `v${major}.${minor}.${patch}`;
}

function addLabel(text: string, labels: Record<string, string>): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('Use the form key=value.');
  return { ...labels, [text.slice(0, equals)]: text.slice(equals + 1) };
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('Use a whole number above 0.');
  return count;
}
