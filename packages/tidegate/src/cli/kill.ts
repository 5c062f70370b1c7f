import { Argument, Command } from 'commander';
import { type Component, callerFor, NAMED_COMPONENTS, SINGLE_COMPONENTS } from '../supervisor/index.ts';
import { stateOption } from './options.ts';
import { CommandError, fail } from './process.ts';
import { ask, stateOf } from './state.ts';

export function killCommand(): Command {
  return new Command('kill')
    .description('Kill processes of the embedded cluster, as a crash would; they are restarted')
    .addArgument(
      new Argument('[component]', 'what to kill').choices([...NAMED_COMPONENTS, ...SINGLE_COMPONENTS]),
    )
    .argument('[name...]', 'names of routers; for hubs and nodes, node names, pools, or label selectors')
    .addOption(stateOption())
    .addHelpText(
      'after',
      `
The signal is SIGKILL. Only processes of the cluster in the state directory are killed.

Examples:
  tidegate kill router hangzhou
  tidegate kill hub node-a node-b
  tidegate kill apiserver`,
    )
    .action(run);
}

async function run(
  component: Component | undefined,
  names: string[],
  options: { state: string },
): Promise<void> {
  try {
    if (component === undefined) {
      throw new CommandError(
        `specify what to kill: ${NAMED_COMPONENTS.join(', ')}, each with names; or ${SINGLE_COMPONENTS.join(', ')}; for example \`${callerFor(options.state)('kill apiserver')}\``,
      );
    }
    const killed = (await ask(stateOf(options), { command: 'kill', component, names })) as string[];
    console.log(`Killed: ${killed.join(', ')}`);
  } catch (error) {
    fail(error);
  }
}
