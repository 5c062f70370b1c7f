/** What is made for an L7Router, where a workload in the cluster carries the bytes. Pure. */
import { createHash } from 'node:crypto';
import {
  INGRESS_CLASS_PARAMETERS,
  type L7Router,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  ROUTER_LABEL,
  type RouterWorkload,
  SYSTEM_NAMESPACE,
} from '../../api/index.ts';
import type {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  KubeObject,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
} from '../../kube/index.ts';
import { classesOf } from '../classes/index.ts';

/** Above those that only root may take. */
const PORTS = { http: 8080, https: 8443, admin: 10254 } as const;
/** The working directory, so that the state is found below it wherever the root of the container is. */
const STATE_MOUNT = '/var/lib/tidegate';
/** A service name is a DNS label. */
const LONGEST_NAME = 63;

export const workloadOf = ({ spec }: L7Router): RouterWorkload & { namespace: string; replicas: number } => ({
  ...spec.workload,
  namespace: spec.workload?.namespace ?? SYSTEM_NAMESPACE,
  replicas: spec.workload?.replicas ?? 1,
});

/** Of everything that is made for the router. */
export function workloadName(router: string): string {
  const name = `tidegate-router-${router}`;
  if (name.length <= LONGEST_NAME && /^[a-z0-9-]+$/.test(name)) return name;
  const digest = createHash('sha256').update(router).digest('hex').slice(0, 8);
  const plain = name.replace(/[^a-z0-9]+/g, '-').slice(0, LONGEST_NAME - digest.length - 1);
  return `${plain.replace(/-+$/, '')}-${digest}`;
}

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

/** The router is the owner: whatever becomes of us, they go with it. */
export const metadataFor = (
  { apiVersion, kind, metadata }: L7Router,
  name: string,
): KubeObject['metadata'] => ({
  name,
  labels: { 'app.kubernetes.io/name': 'tidegate-router', [ROUTER_LABEL]: `${metadata.name}` },
  ownerReferences: [
    {
      apiVersion,
      kind,
      name: `${metadata.name}`,
      uid: `${metadata.uid}`,
      controller: true,
      blockOwnerDeletion: true,
    },
  ],
});

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

const selectorOf = (router: L7Router): { [ROUTER_LABEL]: string } => ({
  [ROUTER_LABEL]: `${router.metadata.name}`,
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
    metadata,
    spec: {
      type: serviceType,
      selector: selectorOf(router),
      ports: [port('http', httpPort), port('https', httpsPort)],
      ...(addresses !== undefined && addresses.length > 0 && { externalIPs: addresses }),
    },
  };
}

function disruptionBudget(router: L7Router, metadata: KubeObject['metadata']): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata,
    spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(router) } },
  };
}

function deployment(router: L7Router, metadata: KubeObject['metadata'], defaultImage: string): Deployment {
  const { replicas, image = defaultImage } = workloadOf(router);
  const labels = metadata.labels ?? {};
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas,
      selector: { matchLabels: selectorOf(router) },
      // The new one serves before the old one goes.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: metadata.name,
          terminationGracePeriodSeconds: 60,
          ...placement(router, replicas),
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65532,
            runAsGroup: 65532,
            fsGroup: 65532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [container(router, image)],
          volumes: [
            { name: 'state', emptyDir: {} },
            { name: 'tmp', emptyDir: {} },
          ],
        },
      },
    },
  };
}

type PodSpec = NonNullable<NonNullable<Deployment['spec']>['template']['spec']>;

function container(router: L7Router, image: string): PodSpec['containers'][number] {
  return {
    name: 'router',
    image,
    workingDir: STATE_MOUNT,
    args: argumentsFor(router),
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    ],
    ports: Object.entries(PORTS).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' })),
    readinessProbe: { httpGet: { path: '/readyz', port: 'admin' }, periodSeconds: 2 },
    livenessProbe: { httpGet: { path: '/healthz', port: 'admin' }, periodSeconds: 10, failureThreshold: 6 },
    resources: { requests: { cpu: '50m', memory: '96Mi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'state', mountPath: STATE_MOUNT },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

function argumentsFor(router: L7Router): string[] {
  const { driver, pool } = router.spec;
  return [
    'router',
    ...classesOf(router).map((name) => `--class=${name}`),
    `--router=${router.metadata.name}`,
    ...(pool === undefined ? [] : [`--pool=${pool}`]),
    // Where there is no nginx, as on a machine that tries this out, the router says so and goes on without.
    `--dataplane=${driver === 'nginx' ? 'auto' : driver}`,
    '--address=$(POD_IP)',
    `--http-port=${PORTS.http}`,
    `--https-port=${PORTS.https}`,
    `--admin-port=${PORTS.admin}`,
    '--state=state',
  ];
}

/** In its pool, whatever keeps others away from there; and several of them on different nodes, if there are so many. */
function placement(
  { spec, metadata }: L7Router,
  replicas: number,
): Pick<PodSpec, 'affinity' | 'tolerations'> {
  const { pool } = spec;
  const inPool = [NODE_POOL_LABEL, NODE_GROUP_LABEL].map((key) => ({
    matchExpressions: [{ key, operator: 'In', values: [`${pool}`] }],
  }));
  const matchLabels = { [ROUTER_LABEL]: `${metadata.name}` };
  const apart = { labelSelector: { matchLabels }, topologyKey: 'kubernetes.io/hostname' };
  const affinity = {
    ...(pool !== undefined && {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: inPool } },
    }),
    ...(replicas > 1 && {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: apart }],
      },
    }),
  };
  return {
    ...(Object.keys(affinity).length > 0 && { affinity }),
    ...(pool !== undefined && { tolerations: [{ operator: 'Exists' }] }),
  };
}
