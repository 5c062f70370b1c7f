import { setTimeout as sleep } from 'node:timers/promises';
import { quotePath } from '@tidegate/disk';
import { Command, InvalidArgumentError } from 'commander';
import {
  type ClusterReport,
  callerFor,
  callSupervisor,
  logFiles,
  type NodeLayout,
  readCluster,
  type StateDirectory,
} from '../supervisor/index.ts';
import { logJson, logText } from './log-text.ts';
import { outputOption, stateOption } from './options.ts';
import { CommandError, fail } from './process.ts';
import { type LogLine, LogReader } from './read-logs.ts';
import { stateOf } from './state.ts';

interface Options {
  state: string;
  follow?: true;
  tail?: number;
  output?: 'json';
}

const POLL_MS = 200;

export function logsCommand(): Command {
  return new Command('logs')
    .description('Show the logs of the embedded cluster: readable text on a terminal, JSON elsewhere')
    .argument(
      '[component]',
      'apiserver, controllers, manager, hub, node, router, supervisor, or a process of `tidegate status` (default: all)',
    )
    .argument(
      '[name...]',
      'names of routers; for hubs and nodes, node names, pools, or label selectors (default: all)',
    )
    .addOption(stateOption())
    .option('-f, --follow', 'wait for new lines and show them')
    .option('--tail <lines>', 'number of lines to show (default: all)', parseLines)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
The logs are those of the current run, or of the last run of a stopped cluster. Logs of pods other than routers are
shown by kubectl logs.

Examples:
  tidegate logs -f
  tidegate logs hub node-a --tail 20
  tidegate logs router hangzhou`,
    )
    .action(run);
}

async function run(component: string | undefined, names: string[], options: Options): Promise<void> {
  // The reader may exit, for example `tidegate logs | head`.
  process.stdout.on('error', () => process.exit());
  try {
    const state = stateOf(options);
    const nodes = component === 'router' ? [] : await nodesOf(state, names);
    const list = () => logFiles(state, component, names, nodes);
    const files = list();
    const print = printer(options, files.length > 1);
    const reader = new LogReader();
    const lines = await reader.read(files);
    for (const line of lines.slice(Math.max(0, lines.length - (options.tail ?? lines.length)))) print(line);
    // Ctrl-C ends the program. The files are listed each time, because components come and go.
    while (options.follow === true) {
      await sleep(POLL_MS);
      for (const line of await reader.read(list())) print(line);
    }
  } catch (error) {
    fail(error);
  }
}

/**
 * A running cluster knows the pools of its nodes, which are labels in the API. It is asked only if that matters: logs must
 * be readable while a cluster does not respond.
 */
async function nodesOf(state: StateDirectory, names: readonly string[]): Promise<readonly NodeLayout[]> {
  const cluster = await readCluster(state);
  if (cluster === undefined)
    throw new CommandError(
      `no cluster in ${quotePath(state.path)}; create one with \`${callerFor(state.path)('up')}\``,
    );
  const { nodes } = cluster;
  if (names.every((name) => nodes.some((node) => node.name === name))) return nodes;
  const answer = await callSupervisor(state, { command: 'status' }).catch(() => undefined);
  return answer === undefined ? nodes : (answer.result as ClusterReport).nodes;
}

function printer({ output }: Options, isMixed: boolean): (line: LogLine) => void {
  const { stdout } = process;
  if (output === 'json' || !stdout.isTTY)
    return ({ component, line }) => void stdout.write(`${logJson(line, component)}\n`);
  const color = process.env.NO_COLOR === undefined;
  return ({ component, line }) =>
    void stdout.write(`${logText(line, { color, ...(isMixed && { component }) })}\n`);
}

function parseLines(text: string): number {
  const lines = Number(text);
  if (!Number.isInteger(lines) || lines < 0) throw new InvalidArgumentError('Use a whole number.');
  return lines;
}
