/** What is made for an L7Router, where a workload in the cluster carries the bytes. Pure. */
import {
  INGRESS_CLASS_PARAMETERS,
  type L7Router,
  NODE_PORT_LISTEN_ANNOTATION,
  TOPOLOGY_KEY_POOL,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../../api/index.ts';
import type {
  ClusterRole,
  ClusterRoleBinding,
  KubeObject,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
} from '../../kube/index.ts';
import { deployment } from './deployment.ts';
import { metadataFor, selectorOf, workloadName, workloadOf } from './identity.ts';

/** In the order in which they are needed. */
export function objectsFor(router: L7Router, defaultImage: string): KubeObject[] {
  const { namespace, replicas } = workloadOf(router);
  const name = workloadName(`${router.metadata.name}`);
  const metadata = metadataFor(router, name);
  const local = { ...metadata, namespace };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: local } satisfies ServiceAccount,
    clusterRole(router, metadata),
    clusterRoleBinding(name, namespace, metadata),
    service(router, local),
    deployment(router, local, defaultImage),
    ...(replicas > 1 ? [disruptionBudget(router, local)] : []),
  ];
}

const READ = ['get', 'list', 'watch'];

/** All that it reads but Secrets, and the status of its own L7Router. */
function clusterRole(router: L7Router, metadata: KubeObject['metadata']): ClusterRole {
  const { group } = INGRESS_CLASS_PARAMETERS;
  const resourceNames = [`${router.metadata.name}`];
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata,
    rules: [
      { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'ingressclasses'], verbs: READ },
      { apiGroups: [''], resources: ['services'], verbs: READ },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
      { apiGroups: [group], resources: ['l7routers'], resourceNames, verbs: READ },
      { apiGroups: [group], resources: ['l7routers/status'], resourceNames, verbs: ['patch'] },
      // Which nodes are in the pool.
      ...(router.spec.pool === undefined ? [] : [{ apiGroups: [''], resources: ['nodes'], verbs: READ }]),
    ],
  };
}

const clusterRoleBinding = (
  name: string,
  namespace: string,
  metadata: KubeObject['metadata'],
): ClusterRoleBinding => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata,
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
  subjects: [{ kind: 'ServiceAccount', name, namespace }],
});

function service(router: L7Router, metadata: KubeObject['metadata']): Service {
  const {
    serviceType = 'NodePort',
    addresses,
    httpPort = 80,
    httpsPort = 443,
    nodePorts,
  } = workloadOf(router);
  const port = (name: 'http' | 'https', number: number) => ({
    name,
    port: number,
    protocol: 'TCP',
    targetPort: name,
    ...(nodePorts?.[name] !== undefined && { nodePort: nodePorts[name] }),
  });
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadata, ...(router.spec.pool !== undefined && onlyIn(router.spec.pool)) },
    spec: {
      type: serviceType,
      selector: selectorOf(router),
      ports: [port('http', httpPort), port('https', httpsPort)],
      ...(addresses !== undefined && addresses.length > 0 && { externalIPs: addresses }),
    },
  };
}

/** Nodes of other pools neither open its ports nor lead to it. */
const onlyIn = (pool: string): Pick<KubeObject['metadata'], 'annotations'> => ({
  annotations: { [NODE_PORT_LISTEN_ANNOTATION]: pool, [TOPOLOGY_KEYS_ANNOTATION]: TOPOLOGY_KEY_POOL },
});

function disruptionBudget(router: L7Router, metadata: KubeObject['metadata']): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata,
    spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(router) } },
  };
}
