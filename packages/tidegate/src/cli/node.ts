import { resolve } from 'node:path';
import { makeChosenDirectory } from '@tidegate/disk';
import { KUBERNETES_VERSION } from '@tidegate/envtest/apiserver';
import { KubeClient, type Logger, loadConfig, systemClock } from '@tidegate/kube';
import { Command, InvalidArgumentError, Option } from 'commander';
import pino from 'pino';
import { logLevelOption, parsePort } from './options.ts';
import { CommandError, fail, untilStopped } from './process.ts';
import { packageVersion } from './version.ts';

interface Options {
  name: string;
  kubeconfig: string;
  proxyKubeconfig?: string;
  address: string;
  state?: string;
  listenPort: number;
  advertisePort: number;
  label: Record<string, string>;
  images?: string;
  hollow?: true;
  count?: number;
  logLevel: string;
}

export function nodeCommand(): Command {
  return new Command('node')
    .description('run a node of the embedded cluster: its pods are processes of this machine')
    .requiredOption('--name <name>', 'name of the node')
    .option(
      '--kubeconfig <file>',
      "the node's own way to the API server, by its hub if it has one",
      '.tidegate/kubeconfig',
    )
    .option('--proxy-kubeconfig <file>', 'what forwards NodePorts uses this one (default: --kubeconfig)')
    .option('--address <address>', 'address of the node', '127.0.0.1')
    .option('--state <dir>', 'where pods, logs and addresses are kept (default: .tidegate/nodes/<name>)')
    .option('--listen-port <number>', "port of the kubelet's server", parsePort, 10251)
    .option('--advertise-port <number>', 'port under which the API server finds it', parsePort, 10250)
    .addOption(
      new Option('--label <key=value>', 'label of a new node; may be given several times')
        .argParser(addLabel)
        .default({}, 'none'),
    )
    .option('--images <file>', 'what images stand for')
    .option('--hollow', 'pods without processes: they are ready at once')
    .option('--count <number>', 'with --hollow: that many nodes, named <name>-1 and on', parseCount)
    .addOption(logLevelOption())
    .action(run);
}

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  const stopped = untilStopped().then(() => stop.abort());
  const log = pino({ level: options.logLevel }, pino.destination(2));
  const clients: KubeClient[] = [];
  const open = async (path: string, program: string): Promise<KubeClient> => {
    const config = await loadConfig({ path, env: process.env });
    const userAgent = `${program}/${kubernetesVersion()}`;
    // Each part of a node tries again in its own time; a request that waits for a link would hold others up.
    const client = new KubeClient(config, { userAgent, maxRetries: 0, log });
    clients.push(client);
    return client;
  };
  try {
    if (options.count !== undefined && options.hollow === undefined) {
      throw new CommandError(
        '--count is for --hollow nodes only; run one `tidegate node` for each real one.',
      );
    }
    const node = await (options.hollow === true ? startHollow : start)(options, open, log, stop.signal);
    process.send?.('ready');
    await stopped;
    await node.close();
  } catch (error) {
    // Told to end before it was there: nothing is wrong.
    if (!stop.signal.aborted) fail(error, { port: options.listenPort, address: options.address });
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

type Open = (path: string, program: string) => Promise<KubeClient>;

async function start(options: Options, open: Open, log: Logger, signal: AbortSignal) {
  const { startAgent } = await import('@tidegate/envtest/node');
  const client = await open(options.kubeconfig, 'kubelet');
  const stateDirectory = resolve(options.state ?? `.tidegate/nodes/${options.name}`);
  makeChosenDirectory(stateDirectory, '--state');
  return startAgent({
    name: options.name,
    client,
    proxyClient: await open(options.proxyKubeconfig ?? options.kubeconfig, 'kube-proxy'),
    address: options.address,
    listenPort: options.listenPort,
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
    name: options.name,
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
  if (equals < 1) throw new InvalidArgumentError('it must have the form key=value.');
  return { ...labels, [text.slice(0, equals)]: text.slice(equals + 1) };
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1)
    throw new InvalidArgumentError('it must be a whole number above 0.');
  return count;
}
