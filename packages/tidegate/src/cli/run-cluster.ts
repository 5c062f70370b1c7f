/** What `tidegate up` does after it has printed its first line: opens the cluster, runs it, and stops it. */
import { aborted } from '@tidegate/kube';
import { findNginx } from '../dataplane/nginx/find-nginx.ts';
import {
  type ClusterOptions,
  ControlServer,
  callerFor,
  describeChange,
  lowPortsNote,
  openCluster,
  type StateDirectory,
  Supervisor,
} from '../supervisor/index.ts';
import { summary } from './cluster-text.ts';
import { type OctaviaFlags, octaviaArguments } from './octavia.ts';
import { packageFile } from './package-files.ts';
import { type Progress, seconds } from './progress.ts';
import { type RunCommandsOptions, runCommandsWarning, runsCommands } from './run-commands.ts';
import { stateOf } from './state.ts';

export interface UpOptions extends Omit<ClusterOptions, 'file'>, RunCommandsOptions, OctaviaFlags {
  state: string;
  filename?: string;
  logLevel: string;
  nodeMonitorGracePeriod: number;
}

/** Resolves when the cluster has stopped. */
export async function runCluster(options: UpOptions, progress: Progress): Promise<void> {
  const state = stateOf(options);
  const runCommands = runsCommands(options);
  if (runCommands) progress.note(runCommandsWarning());
  const managerArguments = await octaviaArguments(options);
  const { cluster, change, close } = await openCluster(
    state,
    { ...options, file: options.filename },
    progress.note,
  );
  try {
    for (const line of change === undefined ? [] : describeChange(change)) progress.note(line);
    const supervisor = new Supervisor({
      program: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
      state,
      cluster,
      relabeled: change?.relabeled ?? new Map(),
      logLevel: options.logLevel,
      runCommands,
      managerArguments,
      nodeGraceMs: options.nodeMonitorGracePeriod,
      hubManifests: packageFile('deploy/base/hub.yaml'),
      storyManifests: packageFile('examples/story'),
      reporter: progress,
    });
    if (cluster.nodes.length > 0) {
      void noteDataPlane(progress);
      const lowPorts = await lowPortsNote(cluster);
      if (lowPorts !== undefined) progress.note(lowPorts);
    }
    await supervise(supervisor, state, progress, callerFor(options.state));
  } finally {
    await close();
  }
}

/** Each router finds out by itself, but says so only in its log. */
async function noteDataPlane(progress: Progress): Promise<void> {
  const found = await findNginx();
  if ('reason' in found) progress.note(`front doors use the embedded data plane, because ${found.reason}`);
}

async function supervise(
  supervisor: Supervisor,
  state: StateDirectory,
  progress: Progress,
  call: (command: string) => string,
): Promise<void> {
  const control = await ControlServer.listen(state.socket, async (request, onProgress) => {
    switch (request.command) {
      case 'status':
        return supervisor.status();
      case 'stop':
        return supervisor.stop(onProgress);
      case 'kill':
        return supervisor.crash(request.component, request.names);
      case 'reboot':
        return supervisor.reboot(request.targets);
      default:
        return supervisor.changeLinks(request.command, request.all ? 'all' : request.targets);
    }
  });
  const ignoreSignals = onSignals(supervisor, progress, call);
  try {
    const notReady = await supervisor.start();
    if (!supervisor.stopping.aborted) {
      const report = await supervisor.status();
      progress.end();
      const headline = `${notReady.length === 0 ? 'Ready' : 'Started'} in ${seconds()} s.`;
      console.log([headline, summary(report, { call, notReady })].join('\n'));
    }
    await aborted(supervisor.stopping);
    await supervisor.stop();
    progress.end();
    console.log('Stopped.');
  } finally {
    ignoreSignals();
    await control.close();
  }
}

/** The first signal stops the cluster in order; the second kills it. */
function onSignals(
  supervisor: Supervisor,
  progress: Progress,
  call: (command: string) => string,
): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (): void => {
    progress.end();
    if (supervisor.stopping.aborted) {
      supervisor.kill();
      console.log(`Killed. Pods that are still running are adopted by the next \`${call('up')}\`.`);
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
