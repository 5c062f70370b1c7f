import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeClient,
  LEASES,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Resource,
  SERVICES,
} from '@tidegate/kube';
import { FRONT_DOOR_NAMESPACE, ROUTER_NAMESPACE } from '../api/index.ts';
import { type CheckContext, checksFor, runChecks } from '../check/index.ts';
import { customObjects } from '../install/index.ts';
import { redactObject, redactText } from './redact.ts';

const events: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };
const webhooks = (kind: string): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: `${kind}webhookconfigurations`,
  namespaced: false,
});

/** Read in the namespaces of Tidegate only. Secrets are not in the list, and must not be. */
const IN_OUR_NAMESPACES: readonly Resource[] = [
  DEPLOYMENTS,
  PODS,
  SERVICES,
  CONFIG_MAPS,
  LEASES,
  POD_DISRUPTION_BUDGETS,
  events,
];
const IN_CLUSTER: readonly Resource[] = [
  NODES,
  INGRESS_CLASSES,
  INGRESSES,
  ENDPOINT_SLICES,
  webhooks('validating'),
  webhooks('mutating'),
];
const LOG_LINES = 2000;

/** Calls `write` with each file. What cannot be read is a file too: it says why. */
export async function collect(
  context: CheckContext,
  version: string,
  write: (name: string, text: string) => void,
): Promise<void> {
  const { client, namespace, signal } = context;
  const attempt = async (name: string, read: () => Promise<string>): Promise<void> => {
    try {
      write(name, await read());
    } catch (error) {
      write(`${name}.error`, redactText(`${(error as Error).message}\n`));
    }
  };
  const save = (name: string, resource: Resource, where?: string): Promise<void> =>
    attempt(`${name}.json`, async () => {
      const { items } = await client.list(resource, { namespace: where, signal });
      return json(items.map((item) => redactObject(item, where === namespace)));
    });
  await attempt('version.json', async () => {
    const server = await client.raw({ method: 'GET', path: '/version', signal });
    return json({ tidegate: version, server, time: new Date(context.now()).toISOString() });
  });
  await attempt('check.json', async () =>
    redactText(json(await runChecks(checksFor('installed'), context, () => {}))),
  );
  for (const resource of IN_CLUSTER) await save(`cluster/${resource.resource}`, resource);
  await attempt('cluster/custom-resources.json', async () =>
    json((await customObjects(client, signal)).map(({ objects }) => redactObject(objects))),
  );
  const namespaces = [namespace, ROUTER_NAMESPACE, FRONT_DOOR_NAMESPACE, 'tidegate-ingress-nginx'];
  for (const each of new Set(namespaces)) {
    for (const resource of IN_OUR_NAMESPACES) await save(`${each}/${resource.resource}`, resource, each);
    await attempt(`${each}/logs.error`, () => logs(client, each, signal, write));
  }
}

/** Writes the logs of all pods of a namespace. Returns what could not be read. */
async function logs(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
  write: (name: string, text: string) => void,
): Promise<string> {
  const problems: string[] = [];
  const { items } = await client.list(PODS, { namespace, signal });
  for (const { metadata, spec } of items)
    for (const { name } of spec?.containers ?? []) {
      const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log?container=${name}&tailLines=${LOG_LINES}`;
      await client
        .text(path, { signal, deadlineMs: 20_000 })
        .then((text) => write(`${namespace}/logs/${metadata.name}.${name}.log`, redactText(text)))
        .catch((error: unknown) => problems.push(`${metadata.name}: ${(error as Error).message}`));
    }
  return redactText(problems.length === 0 ? 'none\n' : `${problems.join('\n')}\n`);
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
