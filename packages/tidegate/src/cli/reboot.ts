import { Command } from 'commander';
import { stateOption } from './options.ts';
import { CommandError, fail } from './process.ts';
import { ask, stateOf } from './state.ts';

export function rebootCommand(): Command {
  return new Command('reboot')
    .description('Restart nodes of the embedded cluster, as a power failure would')
    .argument('[target...]', 'node names, pools, or label selectors')
    .addOption(stateOption())
    .addHelpText(
      'after',
      `
All processes of the nodes are killed: hubs, agents and pods. Hubs and agents start again with what is on their disks. The
agents start the pods again, with new addresses. Cut links stay cut.

Examples:
  tidegate reboot node-a
  tidegate reboot hangzhou`,
    )
    .action(run);
}

async function run(targets: string[], options: { state: string }): Promise<void> {
  try {
    if (targets.length === 0) {
      throw new CommandError('specify which nodes to reboot: node names, pools or label selectors');
    }
    const rebooted = (await ask(stateOf(options), { command: 'reboot', targets })) as string[];
    console.log(`Rebooted: ${rebooted.join(', ')}`);
  } catch (error) {
    fail(error);
  }
}
