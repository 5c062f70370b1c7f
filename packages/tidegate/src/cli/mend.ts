import { Command } from 'commander';
import { linkAction } from './links.ts';
import { stateOption } from './state.ts';

export function mendCommand(): Command {
  return new Command('mend')
    .description('restore the links that `tidegate cut` cut')
    .argument('[target...]', 'node names, pools, or label selectors')
    .addOption(stateOption())
    .option('--all', 'every node')
    .addHelpText('after', '\nExample:\n  tidegate mend --all')
    .action(linkAction('mend'));
}
