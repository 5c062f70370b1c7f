import { isForbidden, systemClock } from '@tidegate/kube';
import { Command } from 'commander';
import { stringify } from 'yaml';
import {
  applyPlan,
  DEFAULT_NAMESPACE,
  type Inventory,
  nameOf,
  type Plan,
  type Prepared,
  prepareInstall,
  readChart,
  textOf,
  untilReady,
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
  set: string[];
  resetValues?: true;
  forceConflicts?: true;
  dryRun?: true;
  wait: boolean;
  timeout: number;
}

export const installCommand = (): Command =>
  withOptions(new Command('install').description('Install Tidegate on a cluster, or change its settings'))
    .addHelpText(
      'after',
      `
The command first reports what it would change, and stops before the first change if something speaks against it. It can
be repeated: settings of an earlier run stay, and a run that was interrupted is continued.

Examples:
  tidegate install --dry-run
  tidegate install --set image=registry.example/tidegate:0.2.0
  tidegate install --set replicas.admission=3 --set 'nodeSelector={node-role.kubernetes.io/control-plane: ""}'`,
    )
    .action((options: Options) => run(options, false));

export const upgradeCommand = (): Command =>
  withOptions(
    new Command('upgrade').description(
      'Upgrade the installation of a cluster to the version of this program',
    ),
  )
    .addHelpText(
      'after',
      `
Settings of the installation stay. Upgrade one minor version at a time, and the manager before the hubs of nodes.

Example:
  tidegate upgrade --set image=registry.example/tidegate:0.3.0`,
    )
    .action((options: Options) => run(options, true));

const withOptions = (command: Command): Command =>
  command
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option('-n, --namespace <name>', 'namespace of the installation', DEFAULT_NAMESPACE)
    .option(
      '--set <path=value>',
      'set a value of the installation (repeatable); docs/reference/install-values.md lists them',
      (text: string, before: string[]) => [...before, text],
      [],
    )
    .option('--reset-values', 'start from the default values instead of those of the installation')
    .option('--force-conflicts', 'overwrite fields that others have changed')
    .option('--dry-run', 'change nothing; print the objects as YAML, and the changes to standard error')
    .option('--no-wait', 'do not wait until the manager is ready')
    .option(
      '--timeout <duration>',
      'maximum time to wait until the manager is ready',
      parseDuration,
      300_000,
    );

async function run(options: Options, upgrade: boolean): Promise<void> {
  const signal = stopSignal();
  const progress = new Progress(process.stderr);
  try {
    await withClient(options, async (client, { server }) => {
      const chart = readChart(packageFile('deploy/chart'));
      const { namespace } = options;
      progress.step(`comparing Tidegate ${chart.version} with the cluster at ${server}`);
      const prepared = await prepareInstall(client, {
        chart,
        namespace,
        settings: options.set,
        resetValues: options.resetValues === true,
        forceConflicts: options.forceConflicts === true,
        upgrade,
        signal,
      });
      progress.end();
      for (const line of planText(prepared)) console.error(line);
      for (const warning of prepared.warnings) console.error(`Warning: ${warning}`);
      if (prepared.refusals.length > 0)
        throw new CommandError(
          `nothing was changed, because\n${prepared.refusals.map((each) => `  - ${each}`).join('\n')}`,
        );
      if (options.dryRun) {
        console.log(prepared.plan.steps.map(({ object }) => stringify(object)).join('---\n'));
        return;
      }
      const { plan, values, inventory } = prepared;
      const work = { timeoutMs: options.timeout, clock: systemClock, signal, onStep: progress.step };
      await applyPlan(client, plan, { namespace, version: chart.version, values, inventory, ...work });
      if (options.wait) await untilReady(client, { namespace, ...work });
      progress.end();
      console.log(doneText(chart.version, namespace, options));
    });
  } catch (error) {
    progress.end();
    if (signal.aborted) fail(new CommandError('interrupted; run the command again to continue'));
    else
      fail(
        isForbidden(error) ? needsPermission(error, '; tidegate check --pre lists what is missing') : error,
      );
  }
}

/** What would change, before it does. */
function planText({ plan, inventory }: Prepared): string[] {
  const lines = [...stepLines(plan), ...plan.removals.map((name) => `  delete ${textOf(name)}`)];
  const kept = plan.steps.filter(({ action }) => action === 'keep').length;
  return [situation(inventory), ...lines, `${lines.length} changes; ${kept} objects are up to date.`];
}

function situation(inventory: Inventory | undefined): string {
  if (inventory === undefined) return 'Tidegate is not installed yet.';
  const { version, changingTo, isBeingRemoved } = inventory;
  if (isBeingRemoved) return `The removal of Tidegate ${version} was interrupted; it is installed again.`;
  return changingTo === undefined
    ? `Tidegate ${version} is installed.`
    : `${interrupted(version, changingTo)}; it is continued.`;
}

const interrupted = (from: string, to: string): string =>
  from === to
    ? `An installation of Tidegate ${to} was interrupted`
    : `A change from Tidegate ${from} to ${to} was interrupted`;

const MOST_FIELDS = 4;

const stepLines = ({ steps }: Plan): string[] =>
  steps
    .filter(({ action }) => action !== 'keep')
    .map(({ object, action, fields }) => {
      const shown = fields.slice(0, MOST_FIELDS).join(', ');
      const more = fields.length > MOST_FIELDS ? `, and ${fields.length - MOST_FIELDS} more` : '';
      return `  ${action} ${textOf(nameOf(object))}${shown === '' ? '' : ` (${shown}${more})`}`;
    });

function doneText(version: string, namespace: string, { wait, kubeconfig, context }: Options): string {
  const flags = [
    kubeconfig === undefined ? '' : ` --kubeconfig ${kubeconfig}`,
    context === undefined ? '' : ` --context ${context}`,
    namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`,
  ].join('');
  return `Tidegate ${version} is ${wait ? 'ready' : 'installed'} in namespace ${namespace}. Next:
  tidegate check${flags}
  create pools and front doors: docs/guides/install.md#4-create-pools-and-front-doors
  run tidegate hub install on each edge node: docs/guides/install.md#3-install-the-hub-on-edge-nodes`;
}
