import { hostname } from 'node:os';
import { KubeClient, Metrics } from '@tidegate/kube';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Endpoint } from '../admission/index.ts';
import { METRICS_PREFIX } from '../api/index.ts';
import { type ClusterFlags, clusterConfig, contextOption, kubeconfigOption } from './cluster-client.ts';
import { createLog } from './create-log.ts';
import { logLevelOption, parseAddress, parseBoolean, parsePort } from './options.ts';
import { packageVersion } from './package-files.ts';
import { CommandError, fail, untilStopped } from './process.ts';

interface Options extends ClusterFlags {
  installCrds?: true;
  webhookBindAddress: string;
  webhookPort: number;
  webhookUrl?: Endpoint;
  webhookService?: Endpoint;
  adminBindAddress: string;
  adminPort: number;
  hubAddress: string[];
  routerImage: string;
  leaderElect: boolean;
  logLevel: string;
}

export function managerCommand(): Command {
  return new Command('manager')
    .description(
      'Run the manager of a cluster: admission, and the controllers of pools, applications and routers',
    )
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option('--install-crds', 'install or update the CRDs; without it, wait until they are installed')
    .option('--webhook-bind-address <address>', 'address of the admission webhook', parseAddress, '127.0.0.1')
    .option(
      '--webhook-port <number>',
      'port of the admission webhook; 0 selects a free port',
      parsePort,
      9443,
    )
    .addOption(
      new Option(
        '--webhook-url <url>',
        'URL at which API servers reach the webhook (default: its address and port)',
      )
        .argParser(parseUrl)
        .conflicts('webhookService'),
    )
    .addOption(
      new Option(
        '--webhook-service <namespace/name>',
        'Service through which API servers reach the webhook',
      ).argParser(parseService),
    )
    .option(
      '--admin-bind-address <address>',
      'address of /healthz, /readyz and /metrics',
      parseAddress,
      '127.0.0.1',
    )
    .option(
      '--admin-port <number>',
      'port of /healthz, /readyz and /metrics; 0 selects a free port',
      parsePort,
      8081,
    )
    .option('--hub-address <address...>', 'addresses that hubs listen on besides those of their node', [
      '169.254.2.1',
    ])
    .option('--router-image <image>', 'default image of routers', `tidegate:${packageVersion()}`)
    .option(
      '--leader-elect <boolean>',
      'elect a leader, so that only one manager is active',
      parseBoolean,
      true,
    )
    .addOption(logLevelOption(undefined, 'info'))
    .addHelpText(
      'after',
      `
Examples:
  tidegate manager --kubeconfig ~/.kube/config --install-crds
  tidegate manager --webhook-bind-address 0.0.0.0 --webhook-service tidegate-system/tidegate-webhook   # in a pod`,
    )
    .action(run);
}

function parseUrl(text: string): Endpoint {
  if (!URL.canParse(text) || new URL(text).protocol !== 'https:')
    throw new InvalidArgumentError('Use a URL that starts with https://.');
  return { url: text.replace(/\/+$/, '') };
}

function parseService(text: string): Endpoint {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace === '' || name === '' || rest.length > 0)
    throw new InvalidArgumentError(
      'Use a namespace and a name, for example tidegate-system/tidegate-webhook.',
    );
  return { service: { namespace, name, port: 443 } };
}

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  try {
    const { runManager } = await import('../manager/index.ts');
    const config = await clusterConfig(options);
    const client = new KubeClient(config, { userAgent: `tidegate-manager/${packageVersion()}` });
    try {
      await runManager({
        client,
        // In a pod, the host name is the name of the pod. Elsewhere, several managers may run on one host.
        identity: `${hostname()}_${process.pid}`,
        webhook: {
          host: options.webhookBindAddress,
          port: options.webhookPort,
          endpoint: options.webhookUrl ?? options.webhookService,
        },
        health: { host: options.adminBindAddress, port: options.adminPort },
        hubAddresses: options.hubAddress,
        routerImage: options.routerImage,
        leaderElection: options.leaderElect,
        installDefinitions: options.installCrds === true,
        log: createLog(options.logLevel),
        metrics: new Metrics({ prefix: METRICS_PREFIX }),
        signal: stop.signal,
        onReady: () => process.send?.('ready'),
      });
    } finally {
      await client.close();
    }
  } catch (error) {
    fail(withFlag(error, options));
  }
}

/** Names the flag that changes the port which is in use. */
function withFlag(error: unknown, { webhookPort, adminPort }: Options): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error;
  const { port } = error as { port?: number };
  const option = port === adminPort ? '--admin-port' : port === webhookPort ? '--webhook-port' : undefined;
  if (option === undefined) return error;
  return new CommandError(
    `port ${port} is already in use; choose another with ${option} (0 selects a free port)`,
    { cause: error },
  );
}
