import {
  CONFIG_MAPS,
  type ConfigMap,
  type EndpointSlice,
  INGRESS_CLASSES,
  INGRESSES,
  type Ingress,
  type IngressClass,
  isForbidden,
  isNotFound,
  type KubeClient,
  type KubeObject,
  NODES,
  type Node,
  type Resource,
  SECRETS,
  SERVICES,
  type Secret,
  type Service,
  splitKey,
} from '@tidegate/kube';
import {
  type AttachedPolicy,
  CLUSTER_ROUTE_POLICIES,
  HOST_CLAIMS,
  type HostClaim,
  L7_ROUTERS,
  type L7Router,
  NODE_GROUPS,
  NODE_POOLS,
  type NodeGroup,
  type NodePool,
  ROUTE_POLICIES,
} from '../api/index.ts';
import { secretsOfPolicy } from '../ingress/attached-policies/index.ts';
import { configMapsOfAnnotations, secretsOfAnnotations } from '../ingress/compile/index.ts';
import { servedEndpointSlices } from '../ingress/endpoint-slices.ts';
import { type MatchRequest, requestHost, wildcardOf } from '../ingress/match/index.ts';
import type { TraceObjects } from '../router/index.ts';
import { type ClusterFlags, withClient } from './cluster-client.ts';
import { readManifests } from './manifest-file.ts';

/** Reads all objects from the files. An object without a namespace is in `default`, as with kubectl. */
export async function readTraceFiles(paths: readonly string[]): Promise<TraceObjects> {
  const manifests = (await Promise.all(paths.map(readManifests))).flat();
  const objects = manifests.flatMap(({ object }) => itemsOf(object));
  const all = <T>(kind: string): T[] => objects.filter((object) => object.kind === kind) as T[];
  const inNamespace = <T extends KubeObject>(kind: string): T[] =>
    all<T>(kind).map((object) => ({
      ...object,
      metadata: { ...object.metadata, namespace: object.metadata?.namespace ?? 'default' },
    }));
  return {
    ingresses: inNamespace<Ingress>('Ingress'),
    classes: all<IngressClass>('IngressClass'),
    services: inNamespace<Service>('Service'),
    slices: inNamespace<EndpointSlice>('EndpointSlice'),
    secrets: inNamespace<Secret>('Secret'),
    configMaps: inNamespace<ConfigMap>('ConfigMap'),
    routers: all<L7Router>('L7Router'),
    claims: noneIfEmpty(all<HostClaim>('HostClaim')),
    routePolicies: inNamespace<AttachedPolicy>('RoutePolicy'),
    clusterRoutePolicies: all<AttachedPolicy>('ClusterRoutePolicy'),
    nodes: all<Node>('Node'),
    nodePools: all<NodePool>('NodePool'),
    nodeGroups: all<NodeGroup>('NodeGroup'),
  };
}

const itemsOf = (object: KubeObject): KubeObject[] =>
  object.kind.endsWith('List') && Array.isArray(object.items)
    ? (object.items as KubeObject[]).flatMap(itemsOf)
    : [object];

/**
 * Reads the objects from the cluster. Kinds that do not exist or must not be read count as empty. With a namespace, only its
 * Ingresses count, and no permissions in other namespaces are needed.
 */
export async function readTraceCluster(
  flags: ClusterFlags & { namespace?: string },
  request: MatchRequest,
): Promise<TraceObjects> {
  const { namespace } = flags;
  return withClient(flags, async (client) => {
    const list = async <T extends KubeObject>(resource: Resource<T>): Promise<T[]> =>
      (await client.list(resource, resource.namespaced ? { namespace } : {})).items;
    const listKnown = <T extends KubeObject>(resource: Resource<T>): Promise<T[]> =>
      list(resource).catch(emptyIfUnavailable);
    const ingresses = await list(INGRESSES);
    const routePolicies = await listKnown(ROUTE_POLICIES);
    const clusterRoutePolicies = await listKnown(CLUSTER_ROUTE_POLICIES);
    return {
      ingresses,
      classes: await list(INGRESS_CLASSES),
      services: await list(SERVICES),
      slices: await list(await servedEndpointSlices(client)),
      secrets: await readSecrets(client, ingresses, [...routePolicies, ...clusterRoutePolicies], request),
      routePolicies,
      clusterRoutePolicies,
      configMaps: await readNamed(
        client,
        CONFIG_MAPS,
        ingressesOf(ingresses, request).flatMap(configMapsOfAnnotations).map(splitKey),
      ),
      routers: await listKnown(L7_ROUTERS),
      claims: noneIfEmpty(await listKnown(HOST_CLAIMS)),
      nodes: await listKnown(NODES),
      nodePools: await listKnown(NODE_POOLS),
      nodeGroups: await listKnown(NODE_GROUPS),
    };
  });
}

/** Without any claim there is no manager that records them. */
const noneIfEmpty = <T>(items: T[]): T[] | undefined => (items.length === 0 ? undefined : items);

function emptyIfUnavailable(error: unknown): [] {
  if (isNotFound(error) || isForbidden(error)) return [];
  throw error;
}

/** Reads the Secrets with certificates and users that a router may use for the host. */
async function readSecrets(
  client: KubeClient,
  ingresses: Ingress[],
  policies: readonly AttachedPolicy[],
  request: MatchRequest,
): Promise<Secret[]> {
  const host = requestHost(request.host) ?? '';
  const names = [host, wildcardOf(host) ?? host];
  const references = ingresses.flatMap(({ metadata, spec }) =>
    (request.secure ? (spec?.tls ?? []) : [])
      .filter(
        ({ hosts = [] }) => hosts.length === 0 || hosts.some((each) => names.includes(each.toLowerCase())),
      )
      .map(({ secretName = '' }) => ({ namespace: metadata.namespace, name: secretName })),
  );
  for (const ingress of ingressesOf(ingresses, request))
    references.push(...secretsOfAnnotations(ingress).map(splitKey));
  references.push(...policies.flatMap((policy) => secretsOfPolicy(policy).map(splitKey)));
  return readNamed(client, SECRETS, references);
}

/** The Ingresses with rules that can apply to the host. */
function ingressesOf(ingresses: readonly Ingress[], request: MatchRequest): Ingress[] {
  const host = requestHost(request.host) ?? '';
  const names = ['', host, wildcardOf(host) ?? host];
  return ingresses.filter(({ spec }) =>
    (spec?.rules ?? []).some(({ host: each = '' }) => names.includes(each.toLowerCase())),
  );
}

/** Each once. Objects that do not exist or must not be read are left out. */
async function readNamed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  references: readonly { namespace?: string | undefined; name: string }[],
): Promise<T[]> {
  const distinct = new Map(
    references.filter(({ name }) => name !== '').map((each) => [JSON.stringify(each), each]),
  );
  const found = await Promise.all(
    [...distinct.values()].map((target) =>
      client.get(resource, target).then((object) => [object], emptyIfUnavailable),
    ),
  );
  return found.flat();
}
