/** Objects that tests of the hub need often, and helpers to wait. */

import {
  CONFIG_MAPS,
  type ConfigMap,
  type EndpointSlice,
  type KubeClient,
  type KubeObject,
  PODS,
  type Pod,
  type Service,
} from '@tidegate/kube';
import { expect, vi } from 'vitest';
import { NODE_POOLS } from '../../packages/tidegate/src/api/index.ts';
import { type Edge, NODE } from './edge.ts';
import { PATIENCE_MS } from './patience.ts';
import { say } from './wire.ts';

/** Polls until the condition holds. */
export const soon = <T>(look: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(look, { timeout: PATIENCE_MS, interval: 20 });

/** Cuts the link and waits until the hub has noticed it. */
export async function goOffline(edge: Edge): Promise<void> {
  await edge.cut();
  await hubKnows(edge, false);
}

export async function goOnline(edge: Edge): Promise<void> {
  await edge.mend();
  await hubKnows(edge, true);
}

const hubKnows = (edge: Edge, healthy: boolean): Promise<void> =>
  soon(async () => {
    const servers = await say(edge.administration, '/v1/upstreams', {
      headers: { accept: 'application/json' },
    });
    expect(servers.json<unknown>()).toMatchObject([{ healthy }]);
  });

export interface ViewLine {
  identity: string;
  resource: string;
  namespace: string;
  labelSelector: string;
  fieldSelector: string;
  state: string;
  objects: number;
  clients: number;
}

/** The views that the hub reports. */
export const viewsOf = async (edge: Edge): Promise<ViewLine[]> =>
  (await say(edge.adminSocket, '/v1/views', { headers: { accept: 'application/json' } })).json();

export const service = (
  name: string,
  { annotations = {}, ...spec }: { annotations?: Record<string, string> } & Service['spec'] = {},
): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default', annotations },
  spec: { ports: [{ port: 80 }], selector: { app: name }, ...spec },
});

export const slice = (serviceName: string, nodes: string[]): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: `${serviceName}-1`,
    namespace: 'default',
    labels: { 'kubernetes.io/service-name': serviceName },
  },
  addressType: 'IPv4',
  ports: [{ port: 80 }],
  endpoints: nodes.map((nodeName, i) => ({
    addresses: [`10.0.0.${i + 1}`],
    nodeName,
    conditions: { ready: true },
  })),
});

export const nodesIn = (object: KubeObject | undefined): (string | undefined)[] =>
  ((object as EndpointSlice | undefined)?.endpoints ?? []).map(({ nodeName }) => nodeName);

export const pod = (name: string, spec: Partial<NonNullable<Pod['spec']>> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { nodeName: NODE, containers: [{ name: 'c', image: 'i' }], ...spec },
});

export const configMap = (name: string, data: Record<string, string>, labels = {}, namespace = 'default') =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data }) as ConfigMap;

/** Sets the nodes in the status of a pool, as its controller does; creates the pool if it does not exist. */
export async function setPool(client: KubeClient, name: string, nodes: string[]): Promise<void> {
  const pool = {
    apiVersion: 'apps.openyurt.io/v1beta2',
    kind: 'NodePool',
    metadata: { name },
    spec: { type: 'Edge' },
  };
  await client.create(NODE_POOLS, pool).catch(unlessThere);
  const status = { nodes, readyNodeNum: nodes.length };
  await client.patch(NODE_POOLS, { name, subresource: 'status' }, 'merge', { status });
}

export const unlessThere = (error: { reason?: string }): void => {
  if (error.reason !== 'AlreadyExists') throw error;
};

/** A token of kube-proxy, which may read Services and EndpointSlices. */
export async function proxyToken(edge: Edge): Promise<string> {
  await edge.allowReading('kube-proxy', SHARED_BY_PROXY, 'kube-system').catch(unlessThere);
  return edge.token('kube-proxy', 'kube-system');
}

export const SHARED_BY_PROXY = [
  { group: '', resource: 'services' },
  { group: '', resource: 'endpoints' },
  { group: 'discovery.k8s.io', resource: 'endpointslices' },
];

/** A watch of one ConfigMap, with which a test can see that the watch stays open. */
export async function touch(client: KubeClient, name: string, value: string): Promise<void> {
  await client.patch(CONFIG_MAPS, { namespace: 'default', name }, 'merge', { data: { value } });
}

export const podNames = async (client: KubeClient): Promise<string[]> =>
  (await client.list(PODS, { fieldSelector: `spec.nodeName=${NODE}` })).items.map(
    ({ metadata }) => metadata.name ?? '',
  );
