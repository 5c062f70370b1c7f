import {
  type EndpointSlice,
  type KubeClient,
  type KubeObject,
  SERVICE_NAME_LABEL,
  type Service,
} from '@tidegate/kube';
import {
  NODE_POOLS,
  TOPOLOGY_KEY_POOL,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../../packages/tidegate/src/api/index.ts';

export const NODE = 'shop-1';
export const NAMESPACE = 'default';
/** Every second node is in the pool of the hub's node. */
const NODES = Array.from({ length: 20 }, (_, i) => `shop-${i + 1}`);

/** A Service whose traffic stays in its pool. */
export const service = (name: string): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name,
    namespace: NAMESPACE,
    labels: { app: name },
    annotations: { [TOPOLOGY_KEYS_ANNOTATION]: TOPOLOGY_KEY_POOL },
  },
  spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
});

/** The endpoints are distributed evenly over the nodes. */
export const endpointSlice = (name: string, serviceName: string, endpoints: number): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name,
    namespace: NAMESPACE,
    labels: {
      [SERVICE_NAME_LABEL]: serviceName,
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    },
  },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  endpoints: Array.from({ length: endpoints }, (_, i) => ({
    addresses: [`10.${i % 200}.${name.length}.${i % 250}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: NODES[i % NODES.length]!,
    targetRef: {
      kind: 'Pod',
      namespace: NAMESPACE,
      name: `${serviceName}-6d4cf56db6-${String(i).padStart(5, '0')}`,
      uid: `9b3bd3c2-52b6-4b0c-a2f5-${String(i).padStart(12, '0')}`,
    },
    zone: 'zone-a',
  })),
});

/** Creates a pool with half of the nodes, with the status that the manager would write. */
export async function createPool(admin: KubeClient): Promise<void> {
  const pool = { apiVersion: 'apps.openyurt.io/v1beta2', kind: 'NodePool', metadata: { name: 'shop' } };
  const made = await admin.create(NODE_POOLS, { ...pool, spec: { type: 'Edge' } } as KubeObject);
  const nodes = NODES.filter((_, i) => i % 2 === 0);
  await admin.update(NODE_POOLS, { ...made, status: { nodes } } as never, { subresource: 'status' });
}

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false };

/** Allows an account to read what is measured. */
export async function allowReading(
  admin: KubeClient,
  account: { name: string; namespace: string },
): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const metadata = { name: 'bench-reader' };
  const verbs = ['get', 'list', 'watch'];
  const rules = [
    { apiGroups: [''], resources: ['services', 'configmaps'], verbs },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
  ];
  const roleRef = { apiGroup: RBAC.group, kind: 'ClusterRole', ...metadata };
  const subjects = [{ kind: 'ServiceAccount', ...account }];
  await admin.create(
    { ...RBAC, resource: 'clusterroles' },
    { apiVersion, kind: 'ClusterRole', metadata, rules },
  );
  await admin.create(
    { ...RBAC, resource: 'clusterrolebindings' },
    { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects },
  );
}
