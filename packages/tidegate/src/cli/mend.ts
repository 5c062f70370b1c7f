import { Command } from 'commander';
import { linkAction } from './links.ts';
import { stateOption } from './options.ts';

export function mendCommand(): Command {
  return new Command('mend')
    .description('Reconnect nodes that `tidegate cut` disconnected')
    .argument('[target...]', 'node names, pools, or label selectors')
    .addOption(stateOption())
    .option('--all', 'reconnect all nodes')
    .addHelpText('after', '\nExample:\n  tidegate mend --all')
    .action(linkAction('mend'));
}
