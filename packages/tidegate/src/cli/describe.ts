import { CONFIG_MAPS, INGRESS_CLASSES, type IngressClass, isNotFound, type KubeClient } from '@tidegate/kube';
import { Command } from 'commander';
import { INGRESS_CLASS_PARAMETERS, type IngressClassParameters, SYSTEM_NAMESPACE } from '../api/index.ts';
import { referenceOf } from '../ingress/classes/index.ts';
import {
  CLASS_ALIASES,
  type ClusterFlags,
  contextOption,
  kubeconfigOption,
  withClient,
} from './cluster-client.ts';
import { describeIngressCommand } from './describe-ingress.ts';
import { eventTable, readEvents, type ShownEvent } from './events.ts';
import { isDefaultClass } from './get.ts';
import { fail } from './process.ts';

export function describeCommand(): Command {
  return new Command('describe')
    .description('Show the details of an IngressClass or an Ingress')
    .showHelpAfterError(
      'Only `tidegate describe ingressclass NAME` and `tidegate describe ingress NAME` are supported; use kubectl for other resources.',
    )
    .addCommand(describeIngressCommand())
    .addCommand(
      new Command('ingressclass')
        .aliases(CLASS_ALIASES)
        .description('Show an IngressClass with its parameters and events')
        .argument('<name>', 'name of the IngressClass')
        .addOption(kubeconfigOption())
        .addOption(contextOption())
        .option(
          '-n, --namespace <name>',
          'namespace of the installation, with its parameters',
          SYSTEM_NAMESPACE,
        )
        .addHelpText('after', '\nExample:\n  tidegate describe ingressclass gold')
        .action(describeClass),
    );
}

async function describeClass(name: string, options: ClusterFlags & { namespace: string }): Promise<void> {
  try {
    await withClient(options, async (client) => {
      const object = await client.get(INGRESS_CLASSES, { name });
      const parameters = await readParameters(client, object, options.namespace);
      console.log(
        classText(object, parameters, await readEvents(client, 'IngressClass', object), Date.now()),
      );
    });
  } catch (error) {
    fail(error);
  }
}

/** The parameters of the class, or a message that says why they are not available. */
export type Parameters = Readonly<Record<string, string>> | string;

async function readParameters(
  client: KubeClient,
  object: IngressClass,
  installed: string,
): Promise<Parameters> {
  const reference = referenceOf(object);
  if (reference === undefined) return {};
  if ('message' in reference) return reference.message;
  const { kind, name, namespace } = reference;
  // Parameters of the whole cluster are in the namespace of the installation.
  const target = { name, namespace: namespace === SYSTEM_NAMESPACE ? installed : namespace };
  try {
    if (kind === 'ConfigMap') return (await client.get(CONFIG_MAPS, target)).data ?? {};
    const found: IngressClassParameters = await client.get(INGRESS_CLASS_PARAMETERS, target);
    return found.parameters ?? {};
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return `${kind} ${target.name} not found in namespace ${target.namespace}`;
  }
}

/** The details of a class, in the format of the proposal for IngressClass provisioning. */
export function classText(
  object: IngressClass,
  parameters: Parameters,
  events: readonly ShownEvent[],
  now: number,
): string {
  const { name, annotations } = object.metadata;
  // kubectl keeps a copy of the whole object in this annotation.
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...shown } = annotations ?? {};
  const lines = [
    ['Name:', `${name}`],
    ['IsDefaultClass:', isDefaultClass(object) ? 'Yes' : 'No'],
    ['Annotations:', pairs(shown)],
    ['Provisioner:', object.spec?.controller ?? '<none>'],
    ['Parameters:', typeof parameters === 'string' ? `<unknown>: ${parameters}` : pairs(parameters)],
  ];
  if (events.length === 0) return table([...lines, ['Events:', '<none>']]);
  return `${table(lines)}\nEvents:\n${eventTable(events, now)}`;
}

const table = (lines: string[][]): string =>
  lines.map(([label = '', value]) => `${label.padEnd(LABEL_WIDTH)}${value}`).join('\n');
const LABEL_WIDTH = 'IsDefaultClass:  '.length;

const pairs = (map: Readonly<Record<string, string>>): string =>
  Object.entries(map)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',') || '<none>';
