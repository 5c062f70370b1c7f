/**
 * What every program should see, computed from the lists of the API server in the simplest possible way: the meaning
 * of filters and scope, without the implementation of the hub.
 */

import {
  CONFIG_MAPS,
  type ConfigMap,
  ENDPOINT_SLICES,
  type EndpointSlice,
  INGRESSES,
  type KubeClient,
  type KubeObject,
  NODES,
  PODS,
  type Resource,
  SECRETS,
  SERVICES,
  type Service,
} from '@tidegate/kube';
import { NODE_GROUPS, NODE_POOLS } from '../../packages/tidegate/src/api/index.ts';
import type { Interest, Program } from './clients.ts';
import type { ChaosNode } from './node.ts';

const RESOURCES = [
  ...[SERVICES, ENDPOINT_SLICES, INGRESSES, PODS, SECRETS, NODES],
  ...[NODE_POOLS, NODE_GROUPS, CONFIG_MAPS],
];

/** The programs that each filter applies to, unless a setting changes it. */
const FILTERS: Record<string, Program[]> = {
  masterservice: ['kubelet'],
  discardcloudservice: ['kube-proxy'],
  nodeportisolation: ['kube-proxy'],
  forwardkubesvctraffic: ['kube-proxy'],
  servicetopology: ['kube-proxy', 'coredns', 'tidegate-router'],
  ingressendpoints: ['tidegate-router'],
};

/** All objects of the API server, by resource. */
export type Truth = ReadonlyMap<string, readonly KubeObject[]>;

export async function truth(admin: KubeClient): Promise<Truth> {
  const lists = RESOURCES.map(async (resource: Resource): Promise<[string, KubeObject[]]> => {
    const { items } = await admin.list(resource);
    return [resource.resource, items];
  });
  return new Map(await Promise.all(lists));
}

/**
 * The objects that a program should see, by `namespace/name`. They have no resourceVersion, because an object
 * that is filtered again gets the version of the change that caused it.
 */
export function expected(
  all: Truth,
  node: ChaosNode,
  program: Program,
  { resource, fieldSelector = '', namespace }: Interest,
): Map<string, KubeObject> {
  const [field = '', value = ''] = fieldSelector.split('=');
  const seen = (all.get(resource.resource) ?? [])
    .filter((object) => namespace === undefined || object.metadata.namespace === namespace)
    .filter((object) => field === '' || at(object, field) === value)
    .flatMap((object) => shown(all, node, program, object) ?? []);
  return new Map(seen.map((object) => [nameOf(object), withoutVersion(object)]));
}

export const nameOf = ({ metadata: { namespace, name } }: KubeObject): string => `${namespace ?? ''}/${name}`;

export const withoutVersion = (object: KubeObject): KubeObject => {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
};

function isFiltered(all: Truth, filter: string, program: Program): boolean {
  const settings = all.get('configmaps')?.find(({ metadata }) => metadata.name === 'yurt-hub-cfg');
  const words = (settings as ConfigMap | undefined)?.data?.[filter]?.split(',') ?? [];
  return (FILTERS[filter]?.includes(program) || words.includes(program)) && !words.includes(`-${program}`);
}

const at = (object: KubeObject, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], object);

/** The object as the program should see it; undefined if it must not see the object. */
function shown(all: Truth, node: ChaosNode, program: Program, object: KubeObject): KubeObject | undefined {
  if (object.kind === 'Service') return shownService(all, node, program, object as Service);
  return object.kind === 'EndpointSlice' ? shownSlice(all, node, program, object as EndpointSlice) : object;
}

function shownService(all: Truth, node: ChaosNode, program: Program, service: Service): Service | undefined {
  const { metadata, spec } = service;
  const { annotations = {} } = metadata;
  const on = (filter: string): boolean => isFiltered(all, filter, program);
  if (on('masterservice') && nameOf(service) === 'default/kubernetes') {
    const ports = (spec?.ports ?? []).map((port) => ({ ...port, port: node.ports.https }));
    return { ...service, spec: { ...spec, clusterIP: '127.0.0.1', clusterIPs: ['127.0.0.1'], ports } };
  }
  const discarded = spec?.type === 'LoadBalancer' && annotations['svc.openyurt.io/discard'] === 'true';
  if (on('discardcloudservice') && discarded) return undefined;
  const listen = annotations['nodeport.openyurt.io/listen'];
  const pools = [poolOf(all, 'nodepools', node.name), poolOf(all, 'nodegroups', node.name)].filter((p) => p);
  if (!on('nodeportisolation') || spec?.type !== 'NodePort' || listen === undefined || pools.length === 0)
    return service;
  const words = listen.split(',');
  if (pools.some((pool) => words.includes(`-${pool}`))) return undefined;
  return words.includes('*') || pools.some((pool) => words.includes(`${pool}`)) ? service : undefined;
}

function shownSlice(all: Truth, node: ChaosNode, program: Program, slice: EndpointSlice): EndpointSlice {
  const on = (filter: string): boolean => isFiltered(all, filter, program);
  const name = `${slice.metadata.namespace}/${slice.metadata.labels?.['kubernetes.io/service-name']}`;
  if (on('forwardkubesvctraffic') && name === 'default/kubernetes') {
    const endpoints = [{ addresses: ['127.0.0.1'], conditions: { ready: true }, nodeName: node.name }];
    return {
      ...slice,
      endpoints,
      ports: (slice.ports ?? []).map((port) => ({ ...port, port: node.ports.https })),
    };
  }
  const service = all.get('services')?.find((object) => nameOf(object) === name);
  const isInPool = [poolOf(all, 'nodepools', node.name), poolOf(all, 'nodegroups', node.name)].some((p) => p);
  const may = (there?: string): boolean => {
    const near = (first: Kind, second: Kind): boolean => isNear(all, node.name, there, first, second);
    if (on('ingressendpoints') && isInPool && !near('nodepools', 'nodegroups')) return false;
    if (!on('servicetopology')) return true;
    if (service === undefined) return false;
    const { labels = {}, annotations = {} } = service.metadata;
    const keys = annotations['openyurt.io/topologyKeys'];
    const byGroup =
      labels['groupmanagement.kubeedge.io/edgeapplication-name'] ||
      annotations['apps.kubeedge.io/service-topology'];
    if (byGroup && !near('nodegroups', 'nodepools')) return false;
    if (keys === 'kubernetes.io/hostname') return there === node.name;
    return keys === undefined || near('nodepools', 'nodegroups');
  };
  return { ...slice, endpoints: (slice.endpoints ?? []).filter(({ nodeName }) => may(nodeName)) };
}

type Kind = 'nodepools' | 'nodegroups';

/** The first kind of pool that contains this node decides. */
function isNear(all: Truth, here: string, there: string | undefined, first: Kind, second: Kind): boolean {
  if (there === undefined || there === here) return there === here;
  const kind = poolOf(all, first, here) === undefined ? second : first;
  const pool = poolOf(all, kind, here);
  return pool !== undefined && pool === poolOf(all, kind, there);
}

/** If two pools claim a node, the pool that was written last wins. */
function poolOf(all: Truth, kind: Kind, node: string): string | undefined {
  const nodesOf = ({ status }: KubeObject): string[] => {
    const { nodes, containedNodes } = (status ?? {}) as { nodes?: string[]; containedNodes?: string[] };
    return nodes ?? containedNodes ?? [];
  };
  return (all.get(kind) ?? [])
    .filter((pool) => nodesOf(pool).includes(node))
    .sort((a, b) => Number(b.metadata.resourceVersion) - Number(a.metadata.resourceVersion))[0]?.metadata
    .name;
}
