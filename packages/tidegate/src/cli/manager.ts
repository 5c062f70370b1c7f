import { hostname } from 'node:os';
import { KubeClient, loadConfig, Metrics } from '@tidegate/kube';
import { Command, InvalidArgumentError, Option } from 'commander';
import pino from 'pino';
import type { Endpoint } from '../admission/index.ts';
import { logLevelOption, parseBoolean, parsePort } from './options.ts';
import { CommandError, fail, untilStopped } from './process.ts';
import { packageVersion } from './version.ts';

interface Options {
  kubeconfig?: string;
  installCrds?: true;
  webhookHost: string;
  webhookPort: number;
  webhookUrl?: Endpoint;
  webhookService?: Endpoint;
  healthHost: string;
  healthPort: number;
  hubAddress: string[];
  routerImage: string;
  leaderElect: boolean;
  logLevel: string;
}

export function managerCommand(): Command {
  return new Command('manager')
    .description(
      'run what a cluster needs once: the controllers of pools, applications and routers, and admission',
    )
    .option('--kubeconfig <file>', 'how to reach the API server (default: as kubectl; in a pod, its account)')
    .option('--install-crds', 'install the kinds or bring them up to date; otherwise wait for them')
    .option('--webhook-host <address>', 'address to answer API servers on', '127.0.0.1')
    .option('--webhook-port <number>', 'port of it; 0 takes any free one', parsePort, 9443)
    .addOption(
      new Option('--webhook-url <url>', 'where API servers find it (default: at that address and port)')
        .argParser(parseUrl)
        .conflicts('webhookService'),
    )
    .addOption(
      new Option('--webhook-service <namespace/name>', 'the Service by which API servers find it').argParser(
        parseService,
      ),
    )
    .option('--health-host <address>', 'address of /healthz, /readyz and /metrics', '127.0.0.1')
    .option('--health-port <number>', 'port of them; 0 takes any free one', parsePort, 8081)
    .option('--hub-address <address...>', 'where the hubs of all nodes answer', ['169.254.2.1'])
    .option(
      '--router-image <image>',
      'the image of routers for which nobody names another',
      `tidegate:${packageVersion()}`,
    )
    .option('--leader-elect <boolean>', 'of several managers only one works', parseBoolean, true)
    .addOption(logLevelOption('how much is logged', 'info'))
    .addHelpText(
      'after',
      `
Examples:
  tidegate manager --kubeconfig ~/.kube/config --install-crds
  tidegate manager --webhook-host 0.0.0.0 --webhook-service tidegate-system/tidegate-webhook   # in a pod`,
    )
    .action(run);
}

function parseUrl(text: string): Endpoint {
  if (!URL.canParse(text) || new URL(text).protocol !== 'https:')
    throw new InvalidArgumentError('it must begin with https://');
  return { url: text.replace(/\/+$/, '') };
}

function parseService(text: string): Endpoint {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace === '' || name === '' || rest.length > 0)
    throw new InvalidArgumentError(
      'it must be a namespace and a name, such as tidegate-system/tidegate-webhook.',
    );
  return { service: { namespace, name, port: 443 } };
}

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  try {
    const { runManager } = await import('../manager/index.ts');
    const config = await loadConfig({ path: options.kubeconfig, env: process.env });
    const client = new KubeClient(config, { userAgent: `tidegate-manager/${packageVersion()}` });
    try {
      await runManager({
        client,
        // In a pod the host's name is the pod's; elsewhere one host may have several of us.
        identity: `${hostname()}_${process.pid}`,
        webhook: {
          host: options.webhookHost,
          port: options.webhookPort,
          endpoint: options.webhookUrl ?? options.webhookService,
        },
        health: { host: options.healthHost, port: options.healthPort },
        hubAddresses: options.hubAddress,
        routerImage: options.routerImage,
        leaderElection: options.leaderElect,
        installDefinitions: options.installCrds === true,
        log: pino({ level: options.logLevel }, pino.destination(2)),
        metrics: new Metrics(),
        signal: stop.signal,
        onReady: () => process.send?.('ready'),
      });
    } finally {
      await client.close();
    }
  } catch (error) {
    fail(explained(error, options));
  }
}

function explained(error: unknown, { webhookPort, healthPort }: Options): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error;
  const { port } = error as { port?: number };
  const option = port === healthPort ? '--health-port' : port === webhookPort ? '--webhook-port' : undefined;
  if (option === undefined) return error;
  return new CommandError(
    `port ${port} is in use by another program; choose another with ${option} (0 takes any free one).`,
    { cause: error },
  );
}
