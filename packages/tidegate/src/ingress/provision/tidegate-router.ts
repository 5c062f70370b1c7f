/**
 * Tidegate's own router, `tidegate router`: it compiles routes itself, and reports the generation in its L7Router.
 */

import { createHash } from 'node:crypto';
import type { ClusterRole, ClusterRoleBinding } from '@tidegate/kube';
import { INGRESS_CLASS_PARAMETERS, type L7Router } from '../../api/index.ts';
import { type Identity, sharedPodsOf } from './identity.ts';
import {
  type Container,
  containerPorts,
  probes,
  type RouterPorts,
  type RouterProgram,
} from './router-program.ts';

/**
 * Also the working directory. `--state` is relative to it, because in the embedded cluster a container is a process
 * whose root directory is not `/`.
 */
const STATE_MOUNT = '/var/lib/tidegate';
const READ = ['get', 'list', 'watch'];

export const tidegateRouter: RouterProgram = {
  account: ({ name }) => ({ name, isProvisioned: true }),
  needs: clusterAccess,
  pod: (router, _, image, ports) => ({
    terminationGracePeriodSeconds: 60,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65532,
      runAsGroup: 65532,
      fsGroup: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [container(router, image, ports)],
    volumes: [
      { name: 'state', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
    ],
  }),
};

/** Read access to everything but Secrets, and write access to the status of its own L7Router. */
function rulesFor(router: L7Router): NonNullable<ClusterRole['rules']> {
  const { group } = INGRESS_CLASS_PARAMETERS;
  const resourceNames = [`${router.metadata.name}`];
  const isShared = sharedPodsOf(router) !== undefined;
  return [
    { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'ingressclasses'], verbs: READ },
    { apiGroups: [''], resources: ['services'], verbs: READ },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
    { apiGroups: [group], resources: ['hostclaims', 'routepolicies', 'clusterroutepolicies'], verbs: READ },
    // Shared pods find their routers by a label, so they need to list all of them.
    { apiGroups: [group], resources: ['l7routers'], ...(isShared ? {} : { resourceNames }), verbs: READ },
    { apiGroups: [group], resources: ['l7routers/status'], resourceNames, verbs: ['patch'] },
    // To find the nodes of the pool.
    ...(router.spec.pool === undefined ? [] : [{ apiGroups: [''], resources: ['nodes'], verbs: READ }]),
  ];
}

/**
 * A ClusterRole and its binding are never changed, so their name contains a hash of their content. It also contains the UID
 * of the router: a router that is created again does not wait until those of its predecessor are deleted.
 */
function clusterAccess(router: L7Router, { name, namespace, metadata }: Identity, account: string) {
  const rules = rulesFor(router);
  const subjects = [{ kind: 'ServiceAccount', name: account, namespace }];
  const content = JSON.stringify([router.metadata.uid, rules, subjects]);
  const own = {
    ...metadata,
    name: `${name}-${createHash('sha256').update(content).digest('hex').slice(0, 8)}`,
  };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: own.name };
  const role: ClusterRole = { apiVersion, kind: 'ClusterRole', metadata: own, rules };
  const binding: ClusterRoleBinding = {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: own,
    roleRef,
    subjects,
  };
  return [role, binding];
}

const container = (router: L7Router, image: string, ports: RouterPorts): Container => ({
  name: 'router',
  image,
  workingDir: STATE_MOUNT,
  args: argumentsFor(router, ports),
  env: [
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
  ],
  ports: containerPorts(ports),
  ...probes('/healthz', '/readyz'),
  // The reason of a crash is in the status of the pod then, not only in its log.
  terminationMessagePolicy: 'FallbackToLogsOnError',
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

function argumentsFor(router: L7Router, ports: RouterPorts): string[] {
  const { driver, pool, workload, clients } = router.spec;
  const shared = sharedPodsOf(router);
  return [
    'router',
    ...(shared === undefined
      ? [
          // Further classes are in the L7Router. A class that joins changes no pod.
          `--class=${router.spec.ingressClassName}`,
          `--router=${router.metadata.name}`,
        ]
      : // Nothing that depends on a single router: one that joins changes no pod.
        [`--shared-pods=${shared}`]),
    ...(pool === undefined ? [] : [`--pool=${pool}`]),
    // If nginx is not installed, for example in the embedded cluster, the router logs that and uses Node instead.
    `--data-plane=${driver === 'nginx' ? 'auto' : driver}`,
    ...(shared === undefined ? [`--router-uid=${router.metadata.uid}`] : []),
    '--bind-address=$(POD_IP)',
    `--http-port=${ports.http}`,
    `--https-port=${ports.https}`,
    `--admin-port=${ports.admin}`,
    '--state=state',
    // nginx decides it when it starts to listen. Everything else about clients is in the L7Router.
    ...(clients?.proxyProtocol === true ? ['--proxy-protocol'] : []),
    ...(workload?.accessLog === true ? ['--access-log=/dev/stdout'] : []),
  ];
}
