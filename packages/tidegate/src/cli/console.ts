import { dirname } from 'node:path';
import { Command, Option } from 'commander';
import { DEFAULT_STATE } from '../supervisor/caller.ts';
import { type ClusterFlags, contextOption, kubeconfigOption, withClient } from './cluster-client.ts';
import { parsePort } from './options.ts';
import { packageFile, packageVersion } from './package-files.ts';
import { CommandError, fail, stopSignal } from './process.ts';
import { stateOf } from './state.ts';

interface Options extends ClusterFlags {
  port: number;
  state?: string;
}

export function consoleCommand(): Command {
  return new Command('console')
    .description('Show a cluster in the browser: pools and their links, nodes and front doors')
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addOption(
      new Option(
        '--state <dir>',
        `state directory of an embedded cluster (default: ${DEFAULT_STATE}, if it has a cluster)`,
      ).conflicts(['kubeconfig', 'context']),
    )
    .option('--port <number>', 'port on 127.0.0.1; 0 selects a free port', parsePort, 0)
    .addHelpText(
      'after',
      `
The console uses your kubeconfig and stores nothing. It listens on 127.0.0.1 only. The address that it prints contains a key: a
browser without the key is refused. The console does not change the cluster.

Examples:
  tidegate console
  tidegate console --context production --port 8088`,
    )
    .action(run);
}

async function run(options: Options): Promise<void> {
  const signal = stopSignal();
  try {
    const [{ runConsole }, { readCluster }] = await Promise.all([
      import('../console/index.ts'),
      import('../supervisor/index.ts'),
    ]);
    const isRemote = options.kubeconfig !== undefined || options.context !== undefined;
    const directory = stateOf({ state: options.state ?? DEFAULT_STATE });
    const hasCluster = !isRemote && (await readCluster(directory)) !== undefined;
    if (options.state !== undefined && !hasCluster)
      throw new CommandError(`no cluster in ${directory.path}; start one with \`tidegate up --state DIR\``);
    const state = hasCluster ? directory : undefined;
    const flags = state === undefined ? options : { kubeconfig: state.kubeconfig };
    const folder = dirname(packageFile('dist/console/index.html'));
    await withClient(flags, (client) =>
      runConsole(
        { client, version: packageVersion(), port: options.port, folder, state },
        signal,
        (address) => console.log(`Console of ${client.config.server}: ${address}`),
      ),
    );
  } catch (error) {
    if (!signal.aborted) fail(error, { port: options.port, address: '127.0.0.1' });
  }
}
