import { isForbidden, systemClock } from '@tidegate/kube';
import { Command } from 'commander';
import {
  customObjects,
  DEFAULT_NAMESPACE,
  lossesText,
  planRemoval,
  readChart,
  removeAll,
} from '../install/index.ts';
import {
  type ClusterFlags,
  contextOption,
  kubeconfigOption,
  needsPermission,
  withClient,
} from './cluster-client.ts';
import { parseDuration } from './options.ts';
import { packageFile } from './package-files.ts';
import { CommandError, fail, stopSignal } from './process.ts';
import { Progress } from './progress.ts';

interface Options extends ClusterFlags {
  namespace: string;
  keepCrds?: true;
  yes?: true;
  force?: true;
  timeout: number;
}

export function uninstallCommand(): Command {
  return new Command('uninstall')
    .description('Remove Tidegate from a cluster, after a report of what is lost')
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option('-n, --namespace <name>', 'namespace of the installation', DEFAULT_NAMESPACE)
    .option('--keep-crds', 'keep the CRDs, their objects, and the routers that run for them')
    .option('--yes', 'remove it; without this option the command only reports what would be lost')
    .option('--force', 'remove it although nodes still use a hub')
    .option(
      '--timeout <duration>',
      'maximum time that the controllers get to clean up',
      parseDuration,
      120_000,
    )
    .addHelpText('after', '\nExamples:\n  tidegate uninstall\n  tidegate uninstall --keep-crds --yes')
    .action(run);
}

async function run(options: Options): Promise<void> {
  const signal = stopSignal();
  const progress = new Progress(process.stderr);
  const { namespace, keepCrds = false } = options;
  try {
    await withClient(options, async (client) => {
      const chart = readChart(packageFile('deploy/chart'));
      const removal = await planRemoval(client, { chart, namespace, force: options.force === true, signal });
      if (removal === undefined) {
        console.log(`Tidegate is not installed in namespace ${namespace}. Nothing was removed.`);
        return;
      }
      const { objects, inventory, refusals } = removal;
      if (refusals.length > 0)
        throw new CommandError(
          `nothing was removed, because\n${refusals.map((each) => `  - ${each}`).join('\n')}`,
        );
      if (inventory === undefined)
        progress.note(
          `no record of an installation in namespace ${namespace}; the objects of this version are removed`,
        );
      for (const line of lossesText(await customObjects(client, signal), keepCrds)) console.error(line);
      if (!options.yes)
        throw new CommandError('nothing was removed: run the command again with --yes to remove Tidegate');
      await removeAll(client, {
        namespace,
        objects,
        inventory,
        keepCrds,
        timeoutMs: options.timeout,
        clock: systemClock,
        signal,
        onStep: progress.step,
        onNote: progress.note,
      });
      progress.end();
      console.log(`Tidegate is removed${keepCrds ? '; its CRDs and their objects stay' : ''}.`);
    });
  } catch (error) {
    progress.end();
    if (signal.aborted) fail(new CommandError('interrupted; run the command again to continue'));
    else fail(isForbidden(error) ? needsPermission(error) : error);
  }
}
