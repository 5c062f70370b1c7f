import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { KubeClient, LEASES, loadConfig, NODES, systemClock } from '@tidegate/kube';
import { Command, Option } from 'commander';
import { HUB_VERSION_ANNOTATION } from '../api/index.ts';
import { enroll, type Layout, layoutIn, planEnrollment, requireRoot, withdraw } from '../enroll/index.ts';
import { parseDuration } from './options.ts';
import { packageFile, packageVersion } from './package-files.ts';
import { CommandError, fail, stopSignal } from './process.ts';
import { Progress } from './progress.ts';

interface NodeFlags {
  root: string;
  kubeletKubeconfig?: string;
  systemctl: boolean;
}

interface InstallFlags extends NodeFlags {
  nodeName: string;
  as: 'systemd' | 'static-pod';
  image: string;
  nodeToken?: string;
  server?: string;
  caFile?: string;
  takeOver: string[];
  hubOption: string[];
  adminUrl: string;
  timeout: number;
}

export const hubInstallCommand = (): Command =>
  withNodeOptions(
    new Command('install').description('Install the hub on this node, and point its kubelet to the hub'),
  )
    .option('--node-name <name>', 'name of this node', hostname().toLowerCase())
    .addOption(
      new Option('--as <kind>', 'how the hub runs').choices(['systemd', 'static-pod']).default('systemd'),
    )
    .option('--image <image>', 'image of a static pod', `tidegate:${packageVersion()}`)
    .option('--node-token <token>', 'bootstrap token, for a node that has not joined the cluster yet')
    .option('--server <url>', 'API server, with --node-token')
    .option('--ca-file <file>', 'certificate authority of the API server, with --node-token')
    .option(
      '--take-over <file...>',
      'other kubeconfig files to point to the hub, for example that of kube-proxy',
      [],
    )
    .option('--hub-option <option...>', 'options of the hub, for example --hub-option=--lb-mode=priority', [])
    .option('--admin-url <url>', 'admin address of the hub', 'http://127.0.0.1:10267')
    .option('--timeout <duration>', 'maximum time to wait for the hub', parseDuration, 120_000)
    .addHelpText(
      'after',
      `
Run it as root. The kubelet changes to the hub only when the hub answers, and its kubeconfig keeps everything but the server.
tidegate hub uninstall gives the kubelet back to the API server.

Examples:
  tidegate hub install
  tidegate hub install --as static-pod --image registry.example/tidegate:${packageVersion()}
  tidegate hub install --node-token abcdef.0123456789abcdef --server https://192.0.2.1:6443 --ca-file ca.crt`,
    )
    .action(runInstall);

export const hubUninstallCommand = (): Command =>
  withNodeOptions(
    new Command('uninstall').description(
      'Remove the hub from this node, and point its kubelet to the API server',
    ),
  ).action(runUninstall);

const withNodeOptions = (command: Command): Command =>
  command
    .option('--root <dir>', 'root directory of the node', '/')
    .option(
      '--kubelet-kubeconfig <file>',
      'kubeconfig of the kubelet (default: /etc/kubernetes/kubelet.conf)',
    )
    .option('--no-systemctl', 'only print the systemctl commands');

/** The listeners of a hub with its default options. */
const LISTENERS = { bindAddress: '127.0.0.1', hubAddress: '169.254.2.1', httpPort: 10261, httpsPort: 10268 };

async function runInstall(options: InstallFlags): Promise<void> {
  const signal = stopSignal();
  const progress = new Progress(process.stderr);
  try {
    requireRoot(options.root);
    const layout = layoutOf(options);
    const enrollment = planEnrollment({
      layout,
      nodeName: options.nodeName,
      mode: options.as,
      listeners: LISTENERS,
      join: joinOf(options),
      others: options.takeOver,
    });
    await enroll(enrollment, {
      unit: readFileSync(packageFile('deploy/hub.service'), 'utf8'),
      image: options.image,
      hubOptions: options.hubOption,
      run: runner(options, progress),
      hubProblem: () => hubProblem(options.adminUrl),
      ...(options.systemctl && {
        kubeletProblem: (since: number) => heartbeatProblem(layout, options.nodeName, since),
      }),
      timeoutMs: options.timeout,
      clock: systemClock,
      signal,
      onStep: progress.step,
    });
    progress.end();
    console.log(
      `The hub of node ${options.nodeName} runs, and the kubelet uses it. Restart kube-proxy and the pods of the node once, so that they use it too.`,
    );
  } catch (error) {
    progress.end();
    fail(signal.aborted ? new CommandError('interrupted; run the command again to continue') : error);
  }
}

async function runUninstall(options: NodeFlags): Promise<void> {
  const progress = new Progress(process.stderr);
  try {
    requireRoot(options.root);
    const layout = layoutOf(options);
    await withdraw({
      layout,
      run: runner(options, progress),
      release: ({ nodeName }) => release(layout, nodeName),
      onStep: progress.step,
      onNote: progress.note,
    });
    progress.end();
    console.log(
      'The hub is removed, and the kubelet uses the API server. Restart kube-proxy and the pods of the node once, because they may still use the address of the hub. The state in /var/lib/tidegate/hub stays; delete it if no hub follows.',
    );
  } catch (error) {
    progress.end();
    fail(error);
  }
}

const layoutOf = ({ root, kubeletKubeconfig }: NodeFlags): Layout =>
  layoutIn(root, kubeletKubeconfig === undefined ? {} : { kubelet: kubeletKubeconfig });

function joinOf({ nodeToken, server, caFile }: InstallFlags) {
  if (nodeToken === undefined) return undefined;
  if (server === undefined || caFile === undefined)
    throw new CommandError(
      '--node-token needs --server and --ca-file: a token must not be sent to an unknown server',
    );
  try {
    return { token: nodeToken, server, ca: readFileSync(caFile, 'utf8') };
  } catch (cause) {
    throw new CommandError(`--ca-file: cannot read ${caFile}: ${(cause as Error).message}`, { cause });
  }
}

const runner =
  ({ systemctl }: NodeFlags, progress: Progress) =>
  async (command: readonly string[]): Promise<void> => {
    if (!systemctl) {
      progress.note(`not run: ${command.join(' ')}`);
      return;
    }
    const [program = '', ...args] = command;
    await promisify(execFile)(program, args).catch((cause: Error & { stderr?: string }) => {
      throw new CommandError(`${command.join(' ')}: ${cause.stderr?.trim() || cause.message}`, { cause });
    });
  };

/** Why the hub is not ready, or undefined if it is. */
const hubProblem = (adminUrl: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const request = get(`${adminUrl}/v1/readyz`, { timeout: 5_000, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
      });
      response.on('end', () => resolve(response.statusCode === 200 ? undefined : text.trim().slice(0, 300)));
    });
    request.on('timeout', () => request.destroy(new Error('no answer')));
    request.on('error', (error) => resolve(error.message));
  });

/** Why the kubelet has not renewed the lease of its node since a time. Both times are of the clock of this machine. */
async function heartbeatProblem(layout: Layout, name: string, since: number): Promise<string | undefined> {
  if (!existsSync(layout.hub) && !existsSync(layout.kubelet)) return 'it has not joined the cluster yet';
  try {
    const { spec } = await asNode(layout, (client) =>
      client.get(LEASES, { namespace: 'kube-node-lease', name }, { deadlineMs: 10_000 }),
    );
    const renewed = Date.parse(spec?.renewTime ?? '');
    return renewed > since ? undefined : `it has not renewed the lease of node ${name} since its restart`;
  } catch (error) {
    return `the lease of node ${name} cannot be read: ${(error as Error).message}`;
  }
}

/** Deletes the annotation with which the node shows that it has a hub. */
async function release(layout: Layout, nodeName: string): Promise<void> {
  const patch = { metadata: { annotations: { [HUB_VERSION_ANNOTATION]: null } } };
  await asNode(layout, (client) =>
    client.patch(NODES, { name: nodeName }, 'merge', patch, { deadlineMs: 10_000 }),
  );
}

async function asNode<T>(layout: Layout, use: (client: KubeClient) => Promise<T>): Promise<T> {
  const path = existsSync(layout.hub) ? layout.hub : layout.kubelet;
  const client = new KubeClient(await loadConfig({ path, env: {} }), {
    userAgent: `tidegate/${packageVersion()}`,
  });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
