import {
  INGRESS_CLASSES,
  INGRESSES,
  type Ingress,
  type IngressClass,
  isNotFound,
  type KubeClient,
} from '@tidegate/kube';
import { Command } from 'commander';
import {
  ALLOWED_RESPONSE_HEADERS_ANNOTATION,
  type AttachedPolicy,
  CLUSTER_ROUTE_POLICIES,
  ROUTE_POLICIES,
} from '../api/index.ts';
import { ingressKeysOf, PolicyIndex } from '../ingress/attached-policies/index.ts';
import { classNameOf, readIngress } from '../ingress/compile/index.ts';
import { describeForwarding, describePolicy, readAllowedHeaders } from '../ingress/policy/index.ts';
import { type ClusterFlags, contextOption, kubeconfigOption, withClient } from './cluster-client.ts';
import { eventTable, readEvents, type ShownEvent } from './events.ts';
import { fail } from './process.ts';

export const describeIngressCommand = (): Command =>
  new Command('ingress')
    .aliases(['ing', 'ingresses'])
    .description('Show the policies of an Ingress, where each comes from, and its problems')
    .argument('<name>', 'name of the Ingress')
    .option('-n, --namespace <name>', 'namespace of the Ingress', 'default')
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addHelpText('after', '\nExample:\n  tidegate describe ingress web -n shop')
    .action(describeIngress);

async function describeIngress(name: string, options: ClusterFlags & { namespace: string }): Promise<void> {
  try {
    await withClient(options, async (client) => {
      const ingress = await client.get(INGRESSES, { name, namespace: options.namespace });
      const events = await readEvents(client, 'Ingress', ingress);
      const policies = await readPolicies(client, options.namespace);
      const ingressClass = await readClass(client, classNameOf(ingress));
      console.log(ingressText(ingress, policies, events, Date.now(), ingressClass));
    });
  } catch (error) {
    fail(error);
  }
}

/** An error stops the command: without a policy, the output would say that an Ingress is open although it is not. */
async function readPolicies(client: KubeClient, namespace: string): Promise<AttachedPolicy[]> {
  if (!(await client.discovery.serves(ROUTE_POLICIES))) return [];
  const cluster = (await client.list(CLUSTER_ROUTE_POLICIES)).items;
  const own = (await client.list(ROUTE_POLICIES, { namespace })).items;
  return [
    ...cluster.map((each) => ({ ...each, kind: 'ClusterRoutePolicy' })),
    ...own.map((each) => ({ ...each, kind: 'RoutePolicy' })),
  ];
}

async function readClass(client: KubeClient, name: string | undefined): Promise<IngressClass | undefined> {
  if (name === undefined) return undefined;
  return client.get(INGRESS_CLASSES, { name }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
}

/** What the Ingress asks for, as routers read it. */
export function ingressText(
  ingress: Ingress,
  policies: readonly AttachedPolicy[],
  events: readonly ShownEvent[],
  now: number,
  ingressClass?: IngressClass,
): string {
  const index = new PolicyIndex();
  for (const policy of policies) index.put(policy.kind as 'RoutePolicy' | 'ClusterRoutePolicy', policy);
  const { namespace = '', name = '' } = ingress.metadata;
  const className = classNameOf(ingress);
  const at = index.policiesOf(className === undefined ? [] : [className], {
    namespace,
    keys: ingressKeysOf(ingress),
  });
  const written = ingressClass?.metadata.annotations?.[ALLOWED_RESPONSE_HEADERS_ANNOTATION];
  const facts = readIngress(ingress, at, { allowedHeaders: readAllowedHeaders(written) });
  const [claim] = [...facts.claims.values()].filter(({ isLeftOut }) => !isLeftOut);
  const action = claim?.routes[0]?.value.action ?? claim?.fallback?.value;
  const lines = [...describePolicy(action?.policy ?? {}), ...describeForwarding(action?.limits ?? {})];
  return [
    `Name:       ${name}`,
    `Namespace:  ${namespace}`,
    `Class:      ${className ?? '<none>'}`,
    `Hosts:      ${[...facts.claims.keys()].map((host) => host || '*').join(', ') || '<none>'}`,
    ...section('Policies', lines),
    ...section(
      'Inherited',
      facts.origins.map(
        ({ policy, target, sections }) => `${sections.join(', ')}: from ${policy} (${target})`,
      ),
    ),
    ...section(
      'Problems',
      facts.problems.map(({ reason, field, message }) => `${reason}: ${field}: ${message}`),
    ),
    ...(events.length === 0 ? ['Events:     <none>'] : ['Events:', eventTable(events, now)]),
  ].join('\n');
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0
    ? [`${`${title}:`.padEnd(12)}<none>`]
    : [`${title}:`, ...lines.map((each) => `  ${each}`)];
