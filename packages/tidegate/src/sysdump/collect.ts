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
import { podLogs } from './pod-logs.ts';
import { redactCustomResource, redactObject } from './redact-object.ts';
import { redactFields, redactText } from './redact-text.ts';

const events: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };
const NETWORK_POLICIES: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  resource: 'networkpolicies',
  namespaced: true,
};
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
  NETWORK_POLICIES,
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
      const { items } = await client.list(await served(client, resource), { namespace: where, signal });
      return json(items.map((item) => redactObject(resource, item)));
    });
  await attempt('version.json', async () => {
    const server = await client.raw({ method: 'GET', path: '/version', signal });
    return json({ tidegate: version, server, time: new Date(context.now()).toISOString() });
  });
  await attempt('check.json', async () =>
    json(redactFields(await runChecks(checksFor('installed'), context, () => {}))),
  );
  for (const resource of IN_CLUSTER) await save(`cluster/${resource.resource}`, resource);
  await attempt('cluster/custom-resources.json', async () =>
    json((await customObjects(client, signal)).map(({ objects }) => objects.map(redactCustomResource))),
  );
  const namespaces = [namespace, ROUTER_NAMESPACE, FRONT_DOOR_NAMESPACE, 'tidegate-ingress-nginx'];
  for (const each of new Set(namespaces)) {
    for (const resource of IN_OUR_NAMESPACES) await save(`${each}/${resource.resource}`, resource, each);
    const problems = await podLogs(client, each, signal, write);
    if (problems.length > 0) write(`${each}/logs.error`, redactText(`${problems.join('\n')}\n`));
  }
}

/** The resource in the version that the API server has. */
async function served(client: KubeClient, resource: Resource): Promise<Resource> {
  const { group, resource: name } = resource;
  const all = (await client.discovery.resources()).filter(
    (each) => each.group === group && each.resource === name,
  );
  return all.find(({ version }) => version === resource.version) ?? all[0] ?? resource;
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
