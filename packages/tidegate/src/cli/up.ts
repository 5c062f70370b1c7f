import { relative } from 'node:path';
import { aborted } from '@tidegate/kube';
import { Command, Option } from 'commander';
import {
  type ClusterOptions,
  ControlServer,
  describeChange,
  openCluster,
  Supervisor,
} from '../supervisor/index.ts';
import { summary } from './cluster-text.ts';
import { FILENAME_FLAGS, logLevelOption, nodeMonitorGracePeriodOption, parsePort } from './options.ts';
import { packageFile } from './package-files.ts';
import { fail } from './process.ts';
import { DEFAULT_STATE, stateOf, stateOption } from './state.ts';

interface Options extends Omit<ClusterOptions, 'file'> {
  state: string;
  filename?: string;
  logLevel: string;
  nodeMonitorGracePeriod: number;
}

export function upCommand(): Command {
  return new Command('up')
    .description(
      'Run a small Kubernetes cluster on this machine: API server, controllers, and nodes with their hubs',
    )
    .addOption(stateOption())
    .option('--port <number>', 'port of the API server; 0 selects a free port (default: 6443)', parsePort)
    .addOption(
      new Option('--nodes <names>', 'comma-separated node names, or a number of nodes').conflicts([
        'empty',
        'filename',
      ]),
    )
    .addOption(
      new Option(FILENAME_FLAGS, 'layout file with nodes and their labels, in YAML').conflicts('empty'),
    )
    .option('--empty', 'run without nodes')
    .option('--no-story', 'do not create the example: pools, an application and front doors')
    .option(
      '--images <file>',
      'table that maps images to commands (default: images.yaml in the state directory)',
    )
    .addOption(nodeMonitorGracePeriodOption())
    .addOption(logLevelOption('level of the logs in the state directory'))
    .addHelpText(
      'after',
      `
A new cluster has five nodes at two sites: node-a and node-b with the label location=hangzhou; node-c, node-d and node-e
with location=beijing. It runs an application with a front door at each site, from examples/story. The state directory
keeps all options and objects; the next \`tidegate up\` resumes the cluster.

Examples:
  tidegate up
  tidegate up --nodes 3 --state /tmp/three --port 0
  tidegate up -f sites.yaml      # nodes: [{ name: shop-1, labels: { location: paris } }]`,
    )
    .action(run);
}

async function run(options: Options): Promise<void> {
  const started = performance.now();
  const report = progressPrinter(started);
  const state = stateOf(options);
  // The reader of our output may exit, for example `tidegate up | head`; the cluster keeps running.
  process.stdout.on('error', () => {});
  try {
    const { cluster, change, unlock } = await openCluster(
      state,
      { ...options, file: options.filename },
      report,
    );
    for (const line of change === undefined ? [] : describeChange(change)) report(line);
    const supervisor = new Supervisor({
      program: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
      state,
      cluster,
      relabeled: change?.relabeled ?? new Map(),
      logLevel: options.logLevel,
      nodeGraceMs: options.nodeMonitorGracePeriod,
      hubManifests: packageFile('deploy/hub.yaml'),
      storyManifests: packageFile('examples/story'),
      report,
    });
    try {
      await supervise(supervisor, state.socket, started, callerFor(options.state));
    } finally {
      await unlock();
    }
  } catch (error) {
    fail(error);
  }
}

async function supervise(
  supervisor: Supervisor,
  socket: string,
  started: number,
  call: (command: string) => string,
): Promise<void> {
  const control = await ControlServer.listen(socket, async (request, progress) => {
    switch (request.command) {
      case 'status':
        return supervisor.status();
      case 'stop':
        return supervisor.stop(progress);
      default:
        return supervisor.changeLinks(request.command, request.all ? 'all' : request.targets);
    }
  });
  const ignoreSignals = onSignals(supervisor);
  try {
    const notReady = await supervisor.start();
    if (!supervisor.stopping.aborted) {
      const headline = `${notReady.length === 0 ? 'Ready' : 'Started'} in ${seconds(started)} s.`;
      console.log([headline, summary(await supervisor.status(), { call, notReady })].join('\n'));
    }
    await aborted(supervisor.stopping);
    await supervisor.stop();
    console.log('Stopped.');
  } finally {
    ignoreSignals();
    await control.close();
  }
}

/** The first signal stops the cluster in order; the second kills it. */
function onSignals(supervisor: Supervisor): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (): void => {
    if (supervisor.stopping.aborted) {
      supervisor.kill();
      console.log('Killed. Pods that are still running are adopted by the next `tidegate up`.');
      process.exit(130);
    }
    console.log('Stopping. Press Ctrl-C again to kill everything immediately.');
    // `supervise` awaits the same promise and reports a failure.
    supervisor.stop().catch(() => {});
  };
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

const seconds = (started: number): string => ((performance.now() - started) / 1000).toFixed(1);

const progressPrinter =
  (started: number) =>
  (line: string): void =>
    console.log(`${`${seconds(started)} s`.padStart(8)}  ${line}`);

/** The command line of another command for the same cluster, for hints. */
function callerFor(state: string): (command: string) => string {
  const path = relative(process.cwd(), process.argv[1] ?? '');
  const program = path.startsWith('..') || path === '' ? 'tidegate' : path;
  return (command) => [program, command, ...(state === DEFAULT_STATE ? [] : ['--state', state])].join(' ');
}
