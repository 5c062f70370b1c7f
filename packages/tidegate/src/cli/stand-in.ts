import { Command } from 'commander';

/** For trying by hand what pods run; the agent starts the small bundle `dist/node/stand-in.js` instead. */
export function standInCommand(): Command {
  return new Command('stand-in')
    .description('answer HTTP in place of an image')
    .requiredOption('--config <file>', 'JSON: pod, namespace, node, pool, image, address, ports')
    .action(async ({ config }: { config: string }) => {
      const { runStandIn } = await import('@tidegate/envtest/stand-in');
      await runStandIn(config);
    });
}
