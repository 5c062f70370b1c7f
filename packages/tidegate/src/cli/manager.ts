import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { KubeClient, Metrics } from '@tidegate/kube';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Endpoint } from '../admission/index.ts';
import { METRICS_PREFIX } from '../api/index.ts';
import type { Part } from '../manager/index.ts';
import { parseAddressRanges } from '../pools/node-addresses.ts';
import { type ClusterFlags, clusterConfig, contextOption, kubeconfigOption } from './cluster-client.ts';
import { createLog } from './create-log.ts';
import { type OctaviaFlags, octaviaOptions, provisionerFor } from './octavia.ts';
import { logLevelOption, parseAddress, parseBoolean, parseFixedPort, parsePort } from './options.ts';
import { packageVersion } from './package-files.ts';
import { CommandError, fail, untilStopped } from './process.ts';

interface Options extends ClusterFlags, OctaviaFlags {
  installCrds?: true;
  webhookBindAddress: string;
  webhookPort: number;
  webhookUrl?: Endpoint;
  webhookService?: Endpoint;
  webhookClientCa?: string;
  webhookClientName?: string[];
  adminBindAddress: string;
  adminPort: number;
  parts: readonly Part[];
  hubAddress: string[];
  poolRegistration: boolean;
  nodeAddresses: string;
  routerImage: string;
  allowRouterImage: string[];
  allowRouterAddress: string[];
  allowRouterNamespace: string[];
  ingressNginxImage?: string;
  routerHttpPort: number;
  routerHttpsPort: number;
  routerAdminPort: number;
  leaderElect: boolean;
  logLevel: string;
}

export function managerCommand(): Command {
  const command = new Command('manager')
    .description(
      'Run the manager of a cluster: admission, and the controllers of pools, applications and routers',
    )
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addOption(
      new Option(
        '--parts <names>',
        `comma-separated parts to run: ${ALL_PARTS.join(', ')}; each part needs only the permissions of its own ServiceAccount`,
      )
        .argParser(parseParts)
        .default(ALL_PARTS, 'all'),
    )
    .option(
      '--install-crds',
      'install or update the CRDs and the webhook configurations; without it, the files in deploy/ do',
    )
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
      '--webhook-client-ca <file>',
      'accept reviews only from clients with a certificate of this authority, in PEM (default: from every client)',
    )
    .option(
      '--webhook-client-name <name...>',
      'common names of client certificates to accept (default: all of the authority)',
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
    .option(
      '--no-pool-registration',
      'refuse nodes that choose their pool when they register, with --node-labels of the kubelet',
    )
    .option(
      '--node-addresses <ranges>',
      'comma-separated addresses and ranges that serving certificates of all nodes may contain, in addition to the annotation pools.tidegate.io/node-addresses of their pools',
      parseRanges,
      '',
    )
    .option('--router-image <image>', 'default image of routers', `tidegate:${packageVersion()}`)
    .option(
      '--allow-router-image <pattern...>',
      'other images that classes and YurtIngresses may select, also comma-separated; a pattern can end with *',
      parseList,
      [],
    )
    .option(
      '--allow-router-address <range...>',
      'ranges of external addresses that classes and YurtIngresses may give to routers, also comma-separated, for example 203.0.113.0/24',
      parseRangeList,
      [],
    )
    .option(
      '--allow-router-namespace <name...>',
      'namespaces of routers of Tidegate besides tidegate-routers and ingress-nginx',
      [],
    )
    .option(
      '--ingress-nginx-image <image>',
      'default image of routers that run ingress-nginx; without it, or if it is empty, no router does',
    )
    .option('--router-http-port <number>', 'port of routers for HTTP, in their pods', parseFixedPort, 8080)
    .option('--router-https-port <number>', 'port of routers for HTTPS, in their pods', parseFixedPort, 8443)
    .option(
      '--router-admin-port <number>',
      'port of routers for health and metrics, in their pods',
      parseFixedPort,
      10254,
    )
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
  tidegate manager --parts admission --webhook-bind-address 10.1.2.3 --webhook-service tidegate-system/tidegate-webhook   # in a pod`,
    )
    .action(run);
  for (const option of octaviaOptions()) command.addOption(option);
  return command;
}

/** The names are those of `PARTS` in the manager, which is loaded only when it runs. */
const ALL_PARTS: readonly Part[] = ['admission', 'pools', 'routers', 'apps'];

function parseParts(text: string): readonly Part[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !ALL_PARTS.some((part) => part === name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `Part ${JSON.stringify(unknown)} does not exist. Use ${ALL_PARTS.join(', ')}.`,
    );
  return ALL_PARTS.filter((part) => names.includes(part));
}

/** Comma-separated values, added to those of earlier uses of the option. Empty values count for nothing. */
const parseList = (text: string, before: string[]): string[] => [
  ...before,
  ...text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== ''),
];

const parseRangeList = (text: string, before: string[]): string[] =>
  parseList(text, []).reduce((ranges, range) => parseRange(range, ranges), before);

function parseRange(text: string, before: string[]): string[] {
  const [address = '', prefix, ...rest] = text.split('/');
  const most = isIP(address) === 6 ? 128 : 32;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= most);
  if (isIP(address) === 0 || !isPrefix || rest.length > 0)
    throw new InvalidArgumentError('Use an address or a range, for example 203.0.113.0/24.');
  return [...before, text];
}

function parseUrl(text: string): Endpoint {
  if (!URL.canParse(text) || new URL(text).protocol !== 'https:')
    throw new InvalidArgumentError('Use a URL that starts with https://.');
  return { url: text.replace(/\/+$/, '') };
}

function parseRanges(text: string): string {
  const [wrong] = parseAddressRanges(text).invalid;
  if (wrong !== undefined)
    throw new InvalidArgumentError(
      `${JSON.stringify(wrong)} is not an IP address or a range. Use, for example, 192.0.2.0/24,2001:db8::/64.`,
    );
  return text;
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
    const log = createLog(options.logLevel);
    log.info({ version: packageVersion(), parts: options.parts }, 'the manager starts');
    const octavia = await provisionerFor(options.parts, options, log);
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
          ...(await clientAuthentication(options)),
        },
        health: { host: options.adminBindAddress, port: options.adminPort },
        hubAddresses: options.hubAddress,
        registration: options.poolRegistration ? 'allow' : 'refuse',
        nodeAddresses: options.nodeAddresses,
        parts: options.parts,
        routerImage: options.routerImage,
        routerPolicy: {
          images: options.allowRouterImage,
          addresses: options.allowRouterAddress,
          namespaces: options.allowRouterNamespace,
          ...(options.ingressNginxImage && { ingressNginxImage: options.ingressNginxImage }),
        },
        routerPorts: {
          http: options.routerHttpPort,
          https: options.routerHttpsPort,
          admin: options.routerAdminPort,
        },
        provisioners: [octavia.provisioner],
        leaderElection: options.leaderElect,
        installDefinitions: options.installCrds === true,
        log,
        metrics: new Metrics({ prefix: METRICS_PREFIX }),
        signal: stop.signal,
        onReady: () => {
          log.info({}, 'the manager is ready');
          process.send?.('ready');
        },
      });
    } finally {
      await client.close();
      await octavia.close();
    }
  } catch (error) {
    fail(withFlag(error, options));
  }
}

async function clientAuthentication({ webhookClientCa, webhookClientName = [] }: Options) {
  if (webhookClientCa === undefined) {
    if (webhookClientName.length === 0) return {};
    throw new CommandError('--webhook-client-name needs --webhook-client-ca');
  }
  const authority = await readFile(webhookClientCa, 'utf8').catch((cause: Error) => {
    throw new CommandError(`--webhook-client-ca: cannot read ${webhookClientCa}: ${cause.message}`, {
      cause,
    });
  });
  if (!authority.includes('-----BEGIN CERTIFICATE-----'))
    throw new CommandError(`--webhook-client-ca: ${webhookClientCa} does not contain a certificate in PEM`);
  return { clients: { authority, names: webhookClientName } };
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
