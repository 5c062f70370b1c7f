/**
 * The controller of ingress-nginx (1.0 and later) as a router. It serves all classes that have its controller string, so
 * every router has one of its own; it tells the addresses of its Ingresses itself; and it wants to read all Secrets.
 * What it may do does not depend on the router: deploy/manager.yaml has both roles, and the manager may bind them
 * without having such rights itself.
 */

import type { ClusterRoleBinding, ConfigMap, RoleBinding } from '@tidegate/kube';
import { INGRESS_NGINX_CONTROLLER_PREFIX, type L7Router } from '../../api/index.ts';
import { type Container, containerPorts, type Flavour, PORTS, probes } from './flavour.ts';
import type { Identity } from './identity.ts';

const CLUSTER_ROLE = 'tidegate-ingress-nginx';
/** For what it has in its own namespace. */
const LOCAL_CLUSTER_ROLE = 'tidegate-ingress-nginx-local';
/** The user of its image. */
const USER = 101;

export const ingressNginx: Flavour = {
  needs: (_, identity) => [configMap(identity), ...bindings(identity)],
  pod: (router, identity, image) => ({
    // It lets requests end before it does.
    terminationGracePeriodSeconds: 300,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container(router, identity, image)],
  }),
};

/** Its settings are the user's to write: it only has to be there. */
const configMap = ({ namespace, metadata }: Identity): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...metadata, namespace },
});

/** Another role than Tidegate's own router has: a binding can not change its role, so it has another name. */
function bindings({ name, namespace, metadata }: Identity): [ClusterRoleBinding, RoleBinding] {
  const own = { ...metadata, name: `${name}-ingress-nginx` };
  const to = (role: string) => ({
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  return [
    { apiVersion, kind: 'ClusterRoleBinding', metadata: own, ...to(CLUSTER_ROLE) },
    { apiVersion, kind: 'RoleBinding', metadata: { ...own, namespace }, ...to(LOCAL_CLUSTER_ROLE) },
  ];
}

const container = (router: L7Router, identity: Identity, image: string): Container => ({
  // As everywhere: whoever looks for the logs of a router finds them by one name.
  name: 'router',
  image,
  args: ['/nginx-ingress-controller', ...argumentsFor(router, identity)],
  env: [
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
  ],
  ports: containerPorts(),
  ...probes('/healthz', '/healthz'),
  lifecycle: { preStop: { exec: { command: ['/wait-shutdown'] } } },
  resources: { requests: { cpu: '100m', memory: '90Mi' } },
  securityContext: {
    runAsNonRoot: true,
    runAsUser: USER,
    allowPrivilegeEscalation: false,
    // Its nginx can not be started without, whichever ports it listens on.
    capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
  },
});

function argumentsFor({ spec }: L7Router, { name }: Identity): string[] {
  const { ingressClassName, workload } = spec;
  const addresses = workload?.addresses ?? [];
  return [
    `--election-id=${name}`,
    `--controller-class=${INGRESS_NGINX_CONTROLLER_PREFIX}${ingressClassName}`,
    `--ingress-class=${ingressClassName}`,
    '--watch-ingress-without-class=false',
    `--configmap=$(POD_NAMESPACE)/${name}`,
    // Otherwise it tells the addresses of the nodes that it runs on.
    ...(addresses.length > 0 ? [`--publish-status-address=${addresses.join(',')}`] : []),
    `--http-port=${PORTS.http}`,
    `--https-port=${PORTS.https}`,
    `--healthz-port=${PORTS.admin}`,
  ];
}
