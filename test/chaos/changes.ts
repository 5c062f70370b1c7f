/** Changes of objects in the cloud, of all kinds that hubs have to show, hide or forward. */

import {
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  INGRESSES,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeClient,
  type KubeObject,
  PODS,
  type Resource,
  SECRETS,
  SERVICES,
} from '@tidegate/kube';
import { NODE_GROUPS, NODE_POOLS } from '../../packages/tidegate/src/api/index.ts';
import type { Chance } from '../support/random.ts';
import { PRIVATE_SERVICE } from './clients.ts';
import { NODE_NAMES, podOf, secretOf } from './world.ts';

const namespace = 'default';
const WEB = ['web-0', 'web-1', 'web-2', 'web-3'];
const POOLS = ['pool-a', 'pool-b'];
const GROUPS = ['group-a', 'group-b'];
const LABEL = 'groupmanagement.kubeedge.io/edgeapplication-name';
const POOL_KEY = 'openyurt.io/nodepool';

/** Labels and annotations that filters evaluate. */
interface Marks {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** The scopes that a Service can have. */
const SCOPES: Marks[] = [
  {},
  { annotations: { 'openyurt.io/topologyKeys': 'kubernetes.io/hostname' } },
  { annotations: { 'openyurt.io/topologyKeys': POOL_KEY } },
  { annotations: { 'openyurt.io/topologyKeys': 'kubernetes.io/zone' } },
  { annotations: { 'apps.kubeedge.io/service-topology': 'range-nodegroup' } },
  { labels: { [LABEL]: 'app' } },
  { labels: { [LABEL]: 'app' }, annotations: { 'openyurt.io/topologyKeys': POOL_KEY } },
];
const LISTENS: Marks[] = [
  {},
  ...['pool-a', '*,-pool-a', 'group-b'].map((pools) => ({
    annotations: { 'nodeport.openyurt.io/listen': pools },
  })),
];
const DISCARDS: Marks[] = [{}, { annotations: { 'svc.openyurt.io/discard': 'true' } }];

/** Settings of the filters in the ConfigMap yurt-hub-cfg. */
const SETTINGS: Record<string, string>[] = [
  {},
  { servicetopology: '-coredns' },
  { servicetopology: '-coredns', discardcloudservice: 'coredns' },
  { masterservice: '-kubelet', nodeportisolation: 'coredns,kubelet' },
  { ingressendpoints: 'coredns' },
];

/** More bytes than the embedded API server keeps as watch history. */
const BURST = { writes: 40, bytes: 1_000_000 };

/** Changes one object. */
export type Change = (admin: KubeClient, chance: Chance) => Promise<void>;

export const CHANGES: Record<string, Change> = {
  'a service': (admin, chance) => service(admin, chance, chance.of(WEB), 'ClusterIP', SCOPES),
  'a node port': (admin, chance) => service(admin, chance, 'port', 'NodePort', LISTENS),
  'a load balancer': (admin, chance) => service(admin, chance, 'balancer', 'LoadBalancer', DISCARDS),
  'a slice': (admin, chance) => slice(admin, chance, chance.of(WEB), chance.integer(2)),
  'the private slice': (admin, chance) => put(admin, ENDPOINT_SLICES, sliceOf(chance, PRIVATE_SERVICE, 0)),
  'an ingress': (admin, chance) =>
    chance.percent(25)
      ? remove(admin, INGRESSES, `site-${chance.integer(3)}`)
      : put(admin, INGRESSES, ingressOf(chance, `site-${chance.integer(3)}`)),
  'a pool': (admin, chance) => pool(admin, chance, NODE_POOLS, 'apps.openyurt.io/v1beta2', 'NodePool', POOLS),
  'a group': (admin, chance) =>
    pool(admin, chance, NODE_GROUPS, 'apps.kubeedge.io/v1alpha1', 'NodeGroup', GROUPS),
  'a pod': (admin, chance) => pod(admin, chance),
  'a secret': (admin, chance) =>
    patch(admin, SECRETS, secretOf(chance.of(NODE_NAMES)), { stringData: { k: String(chance.next()) } }),
  'a setting': (admin, chance) => setting(admin, chance),
  'a burst': (admin) => burst(admin),
};

/** Creates what the test relies on, and some of everything else. */
export async function begin(admin: KubeClient, chance: Chance): Promise<void> {
  const annotations = { 'openyurt.io/topologyKeys': 'kubernetes.io/hostname' };
  await put(admin, SERVICES, serviceOf(PRIVATE_SERVICE, 'ClusterIP', { annotations }));
  await put(admin, CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'burst', namespace },
  });
  for (const [name, change] of Object.entries(CHANGES)) {
    if (name === 'a burst') continue;
    for (let i = 0; i < 3; i++) await change(admin, chance);
  }
}

const serviceOf = (name: string, type: string, marks: Marks) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace, ...marks },
  spec: { type, ports: [{ port: 80 }], selector: { app: name } },
});

async function service(
  admin: KubeClient,
  chance: Chance,
  name: string,
  type: string,
  marks: Marks[],
): Promise<void> {
  if (chance.percent(20)) await remove(admin, SERVICES, name);
  else await put(admin, SERVICES, serviceOf(name, type, chance.of(marks)));
}

const sliceOf = (chance: Chance, of: string, index: number) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${of}-${index}`, namespace, labels: { 'kubernetes.io/service-name': of } },
  addressType: 'IPv4',
  ports: [{ port: 80 }],
  endpoints: [...NODE_NAMES, 'elsewhere', undefined].flatMap((nodeName) =>
    chance.percent(70)
      ? [
          {
            addresses: [`10.0.0.${1 + chance.integer(250)}`],
            conditions: { ready: true },
            ...(nodeName && { nodeName }),
          },
        ]
      : [],
  ),
});

async function slice(admin: KubeClient, chance: Chance, of: string, index: number): Promise<void> {
  if (chance.percent(15)) await remove(admin, ENDPOINT_SLICES, `${of}-${index}`);
  else await put(admin, ENDPOINT_SLICES, sliceOf(chance, of, index));
}

const ingressOf = (chance: Chance, name: string) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name, namespace },
  spec: {
    rules: [
      {
        host: `${name}-${chance.integer(100)}.example.com`,
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: 'web-0', port: { number: 80 } } } },
          ],
        },
      },
    ],
  },
});

/** Two pools may claim the same node for a while. */
async function pool(
  admin: KubeClient,
  chance: Chance,
  resource: Resource,
  apiVersion: string,
  kind: string,
  names: string[],
): Promise<void> {
  const name = chance.of(names);
  if (chance.percent(15)) return remove(admin, resource, name, '');
  const made = { apiVersion, kind, metadata: { name }, spec: kind === 'NodePool' ? { type: 'Edge' } : {} };
  await admin.create(resource, made).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  const nodes = chance.some([...NODE_NAMES, 'elsewhere']);
  const status = kind === 'NodePool' ? { nodes, readyNodeNum: nodes.length } : { containedNodes: nodes };
  await admin.patch(resource, { name, subresource: 'status' }, 'merge', { status });
}

async function pod(admin: KubeClient, chance: Chance): Promise<void> {
  const node = chance.of(NODE_NAMES);
  const name = `pod-${chance.integer(3)}-${node}`;
  if (chance.percent(35)) {
    await gone(admin.delete(PODS, { name, namespace }, { gracePeriodSeconds: 0 }));
    return;
  }
  await admin.create(PODS, podOf(name, node)).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

async function setting(admin: KubeClient, chance: Chance): Promise<void> {
  const target = { name: 'yurt-hub-cfg', namespace: 'kube-system' };
  const data = chance.of(SETTINGS);
  const update = { apiVersion: 'v1', kind: 'ConfigMap', metadata: target, data };
  await admin.update(CONFIG_MAPS, update).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return admin.create(CONFIG_MAPS, update);
  });
}

async function burst(admin: KubeClient): Promise<void> {
  for (let i = 0; i < BURST.writes; i++) {
    await patch(admin, CONFIG_MAPS, 'burst', { data: { k: String(i % 10).repeat(BURST.bytes) } });
  }
}

/** Creates the object, or updates it to exactly this. */
async function put(admin: KubeClient, resource: Resource, object: KubeObject): Promise<void> {
  const { name = '' } = object.metadata;
  const target = { name, ...(resource.namespaced ? { namespace } : {}) };
  const now = await admin.get(resource, target).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (now === undefined) {
    await admin.create(resource, object);
    return;
  }
  const { labels, annotations } = object.metadata;
  const spec = { ...(now.spec as object), ...(object.spec as object) };
  const next = { ...now, ...object, metadata: { ...now.metadata, labels, annotations } };
  await admin
    .update(resource, object.spec === undefined ? next : { ...next, spec })
    .catch((error: unknown) => {
      // Its status was written in the meantime.
      if (!isConflict(error)) throw error;
    });
}

async function patch(admin: KubeClient, resource: Resource, name: string, body: object): Promise<void> {
  await admin.patch(resource, { name, namespace }, 'merge', body);
}

async function remove(
  admin: KubeClient,
  resource: Resource,
  name: string,
  within = namespace,
): Promise<void> {
  await gone(admin.delete(resource, { name, ...(within === '' ? {} : { namespace: within }) }));
}

async function gone(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
