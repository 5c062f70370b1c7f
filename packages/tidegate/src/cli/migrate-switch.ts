import { INGRESS_CLASSES, INGRESSES, isConflict, isNotFound, type KubeClient, keyOf } from '@tidegate/kube';
import { Command, Option } from 'commander';
import type { IngressPlan, SwitchClasses, SwitchGoal, SwitchStep } from '../migrate/index.ts';
import { type ClusterFlags, contextOption, kubeconfigOption, withClient } from './cluster-client.ts';
import { CommandError, fail } from './process.ts';

interface Options extends ClusterFlags {
  ingressClass: string;
  toClass: string;
  namespace?: string;
  ingress?: string[];
  back?: true;
  dryRun?: true;
}

const command = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option('--ingress-class <name>', 'class of ingress-nginx', 'nginx')
    .option('--to-class <name>', 'class of Tidegate', 'tidegate')
    .option('-n, --namespace <name>', 'only Ingresses of this namespace')
    .addOption(
      new Option('--ingress <namespace/name...>', 'only these Ingresses (default: all of the class)'),
    )
    .option('--dry-run', 'print what would be done, and change nothing');

const AFTER = `
The command prints all changes of an Ingress before it makes them. Both controllers serve all paths after each change, so you can break it off, and
run it again to continue. It is done if it prints no changes.`;

export const sideBySideCommand = (): Command =>
  command('side-by-side', 'Let both controllers serve the same Ingresses')
    .addHelpText(
      'after',
      `
The controller of the other class serves a copy of each Ingress, and writes the status of the copy only. Run it again after an Ingress has
changed.
${AFTER}

Examples:
  tidegate migrate side-by-side --dry-run
  tidegate migrate side-by-side --ingress shop/web`,
    )
    .action((options: Options) => run('sideBySide', options));

export const switchCommand = (): Command =>
  command('switch', 'Let Tidegate write the status of Ingresses, or switch back')
    .option('--back', 'let ingress-nginx write the status again')
    .addHelpText(
      'after',
      `
Changes the class of Ingresses, which DNS tools follow by their status. The other controller serves a copy.
${AFTER}

Examples:
  tidegate migrate switch --ingress shop/web
  tidegate migrate switch
  tidegate migrate switch --back`,
    )
    .action((options: Options) => run(options.back ? 'switchBack' : 'switch', options));

export const finishCommand = (): Command =>
  command('finish', 'Delete the copies for ingress-nginx of Ingresses that have been switched')
    .addHelpText('after', `${AFTER}\n\nExample:\n  tidegate migrate finish -n shop`)
    .action((options: Options) => run('finish', options));

async function run(goal: SwitchGoal, options: Options): Promise<void> {
  try {
    await withClient(options, async (client) => {
      const { planSwitch } = await import('../migrate/index.ts');
      const classes: SwitchClasses = { old: options.ingressClass, new: options.toClass };
      await checkClasses(client, classes);
      const ingresses = (await client.list(INGRESSES, { namespace: options.namespace })).items;
      const selected = options.ingress && new Set(options.ingress);
      const missing = options.ingress?.find((key) => !ingresses.some((each) => keyOf(each) === key));
      if (missing !== undefined)
        throw new CommandError(`there is no Ingress ${missing}; write --ingress as namespace/name`);
      await carryOut(client, planSwitch(ingresses, classes, goal, selected), options.dryRun === true);
    });
  } catch (error) {
    fail(error);
  }
}

async function checkClasses(client: KubeClient, classes: SwitchClasses): Promise<void> {
  if (classes.old === classes.new)
    throw new CommandError('--ingress-class and --to-class must be different classes');
  try {
    await client.get(INGRESS_CLASSES, { name: classes.new });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CommandError(
      `there is no IngressClass ${classes.new}: create it, or name another with --to-class`,
    );
  }
}

const SWAPPED =
  'the webhook of ingress-nginx refuses a copy with the same paths, so the class is changed first. ingress-nginx does not serve the Ingress until the copy exists, a moment later.';

async function carryOut(client: KubeClient, plans: readonly IngressPlan[], isDryRun: boolean): Promise<void> {
  const { performSteps } = await import('../migrate/index.ts');
  let changes = 0;
  for (const { ingress, steps, warnings, refusal } of plans) {
    for (const warning of warnings) console.error(`${ingress}: ${warning}`);
    if (refusal !== undefined) {
      console.error(`${ingress}: not changed: ${refusal}`);
      process.exitCode = 2;
    }
    for (const step of steps) console.log(`${ingress}: ${stepText(step)}${isDryRun ? ' (dry run)' : ''}`);
    changes += steps.length;
    if (isDryRun) continue;
    await performSteps(
      steps,
      (step) => perform(client, ingress, step),
      () => console.error(`${ingress}: ${SWAPPED}`),
    );
  }
  if (changes === 0) console.log('Nothing to change.');
}

function stepText(step: SwitchStep): string {
  const name = step.object.metadata.name;
  if (step.kind === 'setClass') return `set spec.ingressClassName to ${step.className}: ${step.why}`;
  return `${step.kind} the copy ${name} (class ${step.object.spec?.ingressClassName}): ${step.why}`;
}

async function perform(client: KubeClient, ingress: string, step: SwitchStep): Promise<void> {
  const { classPatch } = await import('../migrate/index.ts');
  const { namespace, name = '' } = step.object.metadata;
  const target = { name, namespace };
  try {
    if (step.kind === 'create') await client.create(INGRESSES, step.object);
    else if (step.kind === 'replace') await client.update(INGRESSES, step.object);
    else if (step.kind === 'setClass')
      await client.patch(INGRESSES, target, 'merge', classPatch(step.object, step.className));
    else await client.delete(INGRESSES, target);
  } catch (error) {
    if (step.kind === 'delete' && isNotFound(error)) return;
    const again = isConflict(error)
      ? 'another client has changed it: run the command again'
      : `${(error as Error).message}. What was done so far is safe: correct this, and run the command again`;
    throw new CommandError(`${ingress}: cannot ${step.kind} ${name}: ${again}`, { cause: error });
  }
}
