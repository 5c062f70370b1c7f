/**
 * The controller of ingress-nginx (1.0 and later) as a router. It serves all classes with its controller name, so every
 * router has its own controller name. It writes the status of its Ingresses itself, and it needs to read all Secrets.
 * The manager cannot grant that: the administrator does so with deploy/overlays/ingress-nginx, which contains the account of
 * all these routers and its permissions.
 */

import type { ConfigMap } from '@tidegate/kube';
import { INGRESS_NGINX_CONTROLLER_PREFIX, type L7Router } from '../../api/index.ts';
import type { Identity } from './identity.ts';
import {
  type Container,
  containerPorts,
  probes,
  type RouterPorts,
  type RouterProgram,
} from './router-program.ts';

const ACCOUNT = 'tidegate-ingress-nginx';
/** The user ID of the image. */
const USER = 101;

export const ingressNginx: RouterProgram = {
  account: () => ({ name: ACCOUNT, isProvisioned: false }),
  needs: (_, identity) => [configMap(identity)],
  pod: (router, identity, image, ports) => ({
    // It finishes open requests before it exits.
    terminationGracePeriodSeconds: 300,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container(router, identity, image, ports)],
  }),
};

/** The controller needs its ConfigMap to exist. Its data belongs to the user and is never overwritten. */
const configMap = ({ namespace, metadata }: Identity): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...metadata, namespace },
});

const container = (router: L7Router, identity: Identity, image: string, ports: RouterPorts): Container => ({
  // The same container name as in other routers, for `kubectl logs -c router`.
  name: 'router',
  image,
  args: ['/nginx-ingress-controller', ...argumentsFor(router, identity, ports)],
  env: [
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
  ],
  ports: containerPorts(ports),
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

function argumentsFor({ spec }: L7Router, { name }: Identity, ports: RouterPorts): string[] {
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
    `--http-port=${ports.http}`,
    `--https-port=${ports.https}`,
    `--healthz-port=${ports.admin}`,
  ];
}
