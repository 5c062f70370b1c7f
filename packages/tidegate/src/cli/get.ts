import { INGRESS_CLASSES, type IngressClass, textTable } from '@tidegate/kube';
import { Command } from 'commander';
import { DEFAULT_CLASS_ANNOTATION } from '../api/index.ts';
import { CLASS_WORDS, kubeconfigOption, withClient } from './cluster-client.ts';
import { fail } from './process.ts';

export function getCommand(): Command {
  return new Command('get')
    .description('list what a cluster offers')
    .showHelpAfterError('There is `tidegate get ingressclass`; for everything else there is kubectl.')
    .addCommand(
      new Command('ingressclass')
        .aliases(CLASS_WORDS)
        .description('list the IngressClasses: their names, and who provisions them')
        .argument('[name]', 'only this one')
        .addOption(kubeconfigOption())
        .addHelpText('after', '\nExample:\n  tidegate get ingressclass')
        .action(getClasses),
    );
}

async function getClasses(name: string | undefined, options: { kubeconfig?: string }): Promise<void> {
  try {
    await withClient(options, async (client) => {
      const classes =
        name === undefined
          ? (await client.list(INGRESS_CLASSES)).items
          : [await client.get(INGRESS_CLASSES, { name })];
      if (classes.length === 0) console.error('No resources found');
      else console.log(classTable(classes));
    });
  } catch (error) {
    fail(error);
  }
}

export const classTable = (classes: readonly IngressClass[]): string =>
  textTable([
    ['NAME', 'TYPE'],
    ...classes.map((each) => [
      `${each.metadata.name}${isDefaultClass(each) ? '(default)' : ''}`,
      each.spec?.controller ?? '<none>',
    ]),
  ]);

export const isDefaultClass = ({ metadata }: IngressClass): boolean =>
  metadata.annotations?.[DEFAULT_CLASS_ANNOTATION] === 'true';
