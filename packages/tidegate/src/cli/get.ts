import { INGRESS_CLASSES, type IngressClass, textTable } from '@tidegate/kube';
import { Command } from 'commander';
import { DEFAULT_CLASS_ANNOTATION } from '../api/index.ts';
import {
  CLASS_ALIASES,
  type ClusterFlags,
  contextOption,
  kubeconfigOption,
  withClient,
} from './cluster-client.ts';
import { outputOption } from './options.ts';
import { fail } from './process.ts';

export function getCommand(): Command {
  return new Command('get')
    .description('List IngressClasses')
    .showHelpAfterError('Only `tidegate get ingressclass` is supported; use kubectl for other resources.')
    .addCommand(
      new Command('ingressclass')
        .aliases(CLASS_ALIASES)
        .description('List IngressClasses with their provisioners')
        .argument('[name]', 'name of one IngressClass')
        .addOption(kubeconfigOption())
        .addOption(contextOption())
        .option('-n, --namespace <name>', 'accepted as by kubectl; IngressClasses have no namespace')
        .addOption(outputOption())
        .addHelpText(
          'after',
          '\nExamples:\n  tidegate get ingressclass\n  tidegate get ingressclass gold -o json',
        )
        .action(getClasses),
    );
}

interface Options extends ClusterFlags {
  output?: 'json';
}

async function getClasses(name: string | undefined, options: Options): Promise<void> {
  try {
    await withClient(options, async (client) => {
      const classes =
        name === undefined
          ? (await client.list(INGRESS_CLASSES)).items
          : [await client.get(INGRESS_CLASSES, { name })];
      if (options.output === 'json') console.log(JSON.stringify(classes.map(jsonOf), undefined, 2));
      else if (classes.length === 0) console.error('No resources found');
      else console.log(classTable(classes));
    });
  } catch (error) {
    fail(error);
  }
}

const jsonOf = (each: IngressClass): object => ({
  name: each.metadata.name,
  provisioner: each.spec?.controller,
  default: isDefaultClass(each),
});

/**
 * The table of classes. Its columns are those of the proposal for IngressClass provisioning, which names the provisioner
 * TYPE here and Provisioner in `describe`. The JSON output uses `provisioner`.
 */
export const classTable = (classes: readonly IngressClass[]): string =>
  textTable([
    ['NAME', 'TYPE'],
    ...classes.map((each) => [
      `${each.metadata.name}${isDefaultClass(each) ? '(default)' : ''}`,
      each.spec?.controller ?? '<none>',
    ]),
  ]);

/** Whether new Ingresses without a class get this class. */
export const isDefaultClass = ({ metadata }: IngressClass): boolean =>
  metadata.annotations?.[DEFAULT_CLASS_ANNOTATION] === 'true';
