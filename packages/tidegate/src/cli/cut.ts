import { Command } from 'commander';
import { linkAction } from './links.ts';
import { stateOption } from './options.ts';

export function cutCommand(): Command {
  return new Command('cut')
    .description('Disconnect nodes from the API server')
    .argument('[target...]', 'node names, pools, or label selectors')
    .addOption(stateOption())
    .option('--all', 'disconnect all nodes')
    .addHelpText('after', '\nExamples:\n  tidegate cut location=hangzhou\n  tidegate cut node-a node-c')
    .action(linkAction('cut'));
}
