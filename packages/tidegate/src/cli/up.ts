import { relative } from 'node:path';
import { aborted } from '@tidegate/kube';
import { Command, Option } from 'commander';
import {
  type ClusterWish,
  ControlServer,
  describeChange,
  openCluster,
  Supervisor,
} from '../supervisor/index.ts';
import { summary } from './cluster-text.ts';
import { logLevelOption, nodeGraceOption, parsePort } from './options.ts';
import { fail } from './process.ts';
import { DEFAULT_STATE, stateOf, stateOption } from './state.ts';
import { packageFile } from './version.ts';

interface Options extends ClusterWish {
  state: string;
  logLevel: string;
  nodeGrace: number;
}

export function upCommand(): Command {
  return new Command('up')
    .description(
      'run a small Kubernetes cluster on this machine: API server, controllers, nodes with their hubs',
    )
    .addOption(stateOption())
    .option('--port <number>', 'port of the API server; 0 takes any free one (default: 6443)', parsePort)
    .addOption(new Option('--nodes <names>', 'names such as a,b,c, or how many').conflicts(['empty', 'file']))
    .addOption(
      new Option('-f, --file <file>', 'a layout: nodes with names and labels, as YAML').conflicts('empty'),
    )
    .option('--empty', 'no nodes')
    .option('--no-story', 'without the example: pools, an application and front doors')
    .option(
      '--images <file>',
      'which commands images stand for (default: images.yaml in the state directory)',
    )
    .addOption(nodeGraceOption())
    .addOption(logLevelOption('how much the logs in the state directory tell'))
    .addHelpText(
      'after',
      `
The first time there are five nodes at two sites: node-a and node-b with location=hangzhou, node-c, node-d and node-e
with location=beijing; and an application with a front door at each site, from examples/story. What was said once is
kept in the state directory; the next up goes on with it.

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
  // Whoever read our output may be gone; that is no reason to end.
  process.stdout.on('error', () => {});
  try {
    const { cluster, change, unlock } = await openCluster(state, options, report);
    for (const line of change === undefined ? [] : describeChange(change)) report(line);
    const supervisor = new Supervisor({
      program: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
      state,
      cluster,
      relabelled: change?.relabelled ?? new Map(),
      logLevel: options.logLevel,
      nodeGraceMs: options.nodeGrace,
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
    const late = await supervisor.start();
    if (!supervisor.stopping.aborted) {
      const headline = `Ready in ${seconds(started)} s.`;
      console.log([headline, summary(await supervisor.status(), { call, late })].join('\n'));
    }
    await aborted(supervisor.stopping);
    await supervisor.stop();
    console.log('Stopped.');
  } finally {
    ignoreSignals();
    await control.close();
  }
}

/** The first signal stops in order, the second at once. */
function onSignals(supervisor: Supervisor): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (): void => {
    if (supervisor.stopping.aborted) {
      supervisor.kill();
      console.log('Stopped at once; pods that still run are taken over by the next up.');
      process.exit(130);
    }
    console.log('Stopping; Ctrl-C again stops at once.');
    // Whoever waits for the end hears of a failure.
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

/** How the user calls another command of this program about the same cluster. */
function callerFor(state: string): (command: string) => string {
  const path = relative(process.cwd(), process.argv[1] ?? '');
  const program = path.startsWith('..') || path === '' ? 'tidegate' : path;
  return (command) => [program, command, ...(state === DEFAULT_STATE ? [] : ['--state', state])].join(' ');
}
