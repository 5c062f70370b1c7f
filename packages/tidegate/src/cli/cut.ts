import { Command } from 'commander';
import { linkAction } from './links.ts';
import { stateOption } from './state.ts';

export function cutCommand(): Command {
  return new Command('cut')
    .description('cut the link between nodes and the API server: reset and refuse connections')
    .argument('[target...]', 'node names, pools, or label selectors')
    .addOption(stateOption())
    .option('--all', 'every node')
    .addHelpText('after', '\nExamples:\n  tidegate cut location=hangzhou\n  tidegate cut node-a node-c')
    .action(linkAction('cut'));
}
