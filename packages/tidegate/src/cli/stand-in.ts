import { Command } from 'commander';

/** For manual tests of the program in pods. The node agent starts the small bundle `dist/node/stand-in.js` instead. */
export function standInCommand(): Command {
  return new Command('stand-in')
    .description('Serve HTTP in place of a container image')
    .requiredOption('--config <file>', 'JSON file with pod, namespace, node, pool, image, address and ports')
    .action(async ({ config }: { config: string }) => {
      const { runStandIn } = await import('@tidegate/envtest/stand-in');
      await runStandIn(config);
    });
}
