/**
 * The controller of ingress-nginx (1.0 and later) as a router. It serves all classes with its controller name, so every
 * router has its own controller name. It writes the status of its Ingresses itself, and it needs to read all Secrets.
 * Its permissions do not depend on the router: deploy/manager.yaml contains both ClusterRoles, and the manager has the
 * verb `bind` for them, so it can grant them without having these permissions itself.
 */

import type { ClusterRoleBinding, ConfigMap, RoleBinding } from '@tidegate/kube';
import { INGRESS_NGINX_CONTROLLER_PREFIX, type L7Router } from '../../api/index.ts';
import type { Identity } from './identity.ts';
import { type Container, containerPorts, PORTS, probes, type RouterProgram } from './router-program.ts';

const CLUSTER_ROLE = 'tidegate-ingress-nginx';
/** Permissions in the namespace of the router, for example for the lease. */
const LOCAL_CLUSTER_ROLE = 'tidegate-ingress-nginx-local';
/** The user ID of the image. */
const USER = 101;

export const ingressNginx: RouterProgram = {
  needs: (_, identity) => [configMap(identity), ...bindings(identity)],
  pod: (router, identity, image) => ({
    // It finishes open requests before it exits.
    terminationGracePeriodSeconds: 300,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container(router, identity, image)],
  }),
};

/** The controller needs its ConfigMap to exist. Its data belongs to the user and is never overwritten. */
const configMap = ({ namespace, metadata }: Identity): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...metadata, namespace },
});

/** The names differ from those of Tidegate's own router, because `roleRef` of a binding is immutable. */
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
  // The same container name as in other routers, for `kubectl logs -c router`.
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
    // Its nginx binary has this file capability and cannot be started without it, whichever ports it listens on.
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
    // Without it, the controller publishes the addresses of the nodes that it runs on.
    ...(addresses.length > 0 ? [`--publish-status-address=${addresses.join(',')}`] : []),
    `--http-port=${PORTS.http}`,
    `--https-port=${PORTS.https}`,
    `--healthz-port=${PORTS.admin}`,
  ];
}
