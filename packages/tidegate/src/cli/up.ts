import { Command, Option } from 'commander';
import { octaviaOptions } from './octavia.ts';
import {
  FILENAME_FLAGS,
  logLevelOption,
  nodeMonitorGracePeriodOption,
  parsePort,
  stateOption,
} from './options.ts';
import { packageVersion } from './package-files.ts';
import { fail } from './process.ts';
import { Progress } from './progress.ts';
import type { UpOptions } from './run-cluster.ts';
import { withRunCommandsOptions } from './run-commands.ts';

const EXIT_MS = 5_000;

export function upCommand(): Command {
  const command = new Command('up')
    .description(
      'Run a small Kubernetes cluster on this machine: API server, controllers, and nodes with their hubs',
    )
    .addOption(stateOption())
    .option(
      '--port <number>',
      'port of the API server; 0 selects a free port (default: 6443, or a free port if it is in use)',
      parsePort,
    )
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
keeps all objects and options, except those of Octavia and --run-commands; the next \`tidegate up\` resumes the cluster.

Examples:
  tidegate up
  tidegate up --nodes 3 --state /tmp/three --port 0
  tidegate up -f sites.yaml      # nodes: [{ name: shop-1, labels: { location: paris } }]`,
    )
    .action(run);
  for (const option of octaviaOptions()) command.addOption(option);
  return withRunCommandsOptions(command);
}

/** Prints a line first, because loading the rest of the program takes the larger part of a second. */
async function run(options: UpOptions): Promise<void> {
  // The reader of our output may exit, for example `tidegate up | head`; the cluster keeps running.
  process.stdout.on('error', () => {});
  const progress = new Progress(process.stdout);
  progress.step(`starting tidegate ${packageVersion()}`);
  try {
    const { runCluster } = await import('./run-cluster.ts');
    await runCluster(options, progress);
  } catch (error) {
    fail(error);
  } finally {
    progress.end();
    // Everything is closed now. Whatever may have been forgotten must not keep a stopped supervisor alive.
    setTimeout(() => process.exit(), EXIT_MS).unref();
  }
}
