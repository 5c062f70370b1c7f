/**
 * Tidegate's own router, `tidegate router`: it compiles routes itself, and reports the generation in its L7Router.
 */

import type { ClusterRole, ClusterRoleBinding } from '@tidegate/kube';
import { INGRESS_CLASS_PARAMETERS, type L7Router } from '../../api/index.ts';
import { classesOf } from '../classes/index.ts';
import type { Identity } from './identity.ts';
import { type Container, containerPorts, PORTS, probes, type RouterProgram } from './router-program.ts';

/**
 * Also the working directory. `--state` is relative to it, because in the embedded cluster a container is a process
 * whose root directory is not `/`.
 */
const STATE_MOUNT = '/var/lib/tidegate';
const READ = ['get', 'list', 'watch'];

export const tidegateRouter: RouterProgram = {
  needs: (router, identity) => [clusterRole(router, identity), clusterRoleBinding(identity)],
  pod: (router, _, image) => ({
    terminationGracePeriodSeconds: 60,
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
  }),
};

/** Read access to everything but Secrets, and write access to the status of its own L7Router. */
function clusterRole(router: L7Router, { metadata }: Identity): ClusterRole {
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
      // To find the nodes of the pool.
      ...(router.spec.pool === undefined ? [] : [{ apiGroups: [''], resources: ['nodes'], verbs: READ }]),
    ],
  };
}

const clusterRoleBinding = ({ name, namespace, metadata }: Identity): ClusterRoleBinding => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata,
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
  subjects: [{ kind: 'ServiceAccount', name, namespace }],
});

const container = (router: L7Router, image: string): Container => ({
  name: 'router',
  image,
  workingDir: STATE_MOUNT,
  args: argumentsFor(router),
  env: [
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
  ],
  ports: containerPorts(),
  ...probes('/healthz', '/readyz'),
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
});

function argumentsFor(router: L7Router): string[] {
  const { driver, pool, workload } = router.spec;
  return [
    'router',
    ...classesOf(router).map((name) => `--class=${name}`),
    `--router=${router.metadata.name}`,
    ...(pool === undefined ? [] : [`--pool=${pool}`]),
    // If nginx is not installed, for example in the embedded cluster, the router logs that and uses Node instead.
    `--data-plane=${driver === 'nginx' ? 'auto' : driver}`,
    '--bind-address=$(POD_IP)',
    `--http-port=${PORTS.http}`,
    `--https-port=${PORTS.https}`,
    `--admin-port=${PORTS.admin}`,
    '--state=state',
    ...(workload?.accessLog === true ? ['--access-log=/dev/stdout'] : []),
  ];
}
