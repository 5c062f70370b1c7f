/** The objects that run an L7Router in the cluster. Pure. */

import type { Deployment, KubeObject, PodDisruptionBudget, Service, ServiceAccount } from '@tidegate/kube';
import {
  type L7Router,
  NODE_PORT_LISTEN_ANNOTATION,
  sectionPorts,
  TOPOLOGY_KEY_POOL,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../../api/index.ts';
import { isOwnProgram } from '../classes/index.ts';
import { identityOf, podsIdentityOf, selectorOf, sharedPodsOf, workloadOf } from './identity.ts';
import { ingressNginx } from './ingress-nginx.ts';
import { PORTS, type RouterPorts } from './router-program.ts';
import { type OutsidePools, type PodSpec, scheduling } from './scheduling.ts';
import { tidegateRouter } from './tidegate-router.ts';

/** Returns the objects in the order in which they are created: a pod needs its account and its permissions first. */
export function objectsFor(
  router: L7Router,
  defaultImage: string,
  ports: RouterPorts = PORTS,
  outsidePools: OutsidePools = 'preferred',
  /** All routers in the pods of this one. The pods are as the first of them says, so that all agree about them. */
  members: readonly L7Router[] = [router],
): KubeObject[] {
  const lead = members[0] ?? router;
  const { replicas, image = defaultImage } = workloadOf(lead);
  const own = identityOf(router);
  const identity = podsIdentityOf(router, members);
  const metadata = { ...identity.metadata, namespace: identity.namespace };
  const { account, needs, pod } = isOwnProgram(router.spec.driver) ? tidegateRouter : ingressNginx;
  const { name, isProvisioned } = account(identity);
  const serviceAccount: ServiceAccount = { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
  return [
    ...(isProvisioned ? [serviceAccount] : []),
    ...needs(router, own, name),
    service(router, { ...own.metadata, namespace: own.namespace }),
    deployment(lead, metadata, {
      serviceAccountName: name,
      ...scheduling(lead, outsidePools),
      ...pod(lead, identity, image, ports),
    }),
    ...(replicas > 1 ? [disruptionBudget(lead, metadata)] : []),
  ];
}

function service(router: L7Router, metadata: KubeObject['metadata']): Service {
  const {
    serviceType = 'NodePort',
    externalTrafficPolicy,
    addresses,
    httpPort = 80,
    httpsPort = 443,
    nodePorts,
    section,
  } = workloadOf(router);
  const inPods =
    sharedPodsOf(router) === undefined || section === undefined ? undefined : sectionPorts(section);
  const port = (name: 'http' | 'https', number: number) => ({
    name,
    port: number,
    protocol: 'TCP',
    targetPort: inPods?.[name] ?? name,
    ...(nodePorts?.[name] !== undefined && { nodePort: nodePorts[name] }),
  });
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadata, ...(router.spec.pool !== undefined && onlyIn(router.spec.pool)) },
    spec: {
      type: serviceType,
      ...(externalTrafficPolicy !== undefined && { externalTrafficPolicy }),
      selector: selectorOf(router),
      ports: [port('http', httpPort), port('https', httpsPort)],
      ...(addresses !== undefined && addresses.length > 0 && { externalIPs: addresses }),
    },
  };
}

/** Restricts the Service to a pool: only nodes of the pool open the node ports and route to its endpoints. */
const onlyIn = (pool: string): Pick<KubeObject['metadata'], 'annotations'> => ({
  annotations: { [NODE_PORT_LISTEN_ANNOTATION]: pool, [TOPOLOGY_KEYS_ANNOTATION]: TOPOLOGY_KEY_POOL },
});

function deployment(router: L7Router, metadata: KubeObject['metadata'], pod: PodSpec): Deployment {
  const { replicas } = workloadOf(router);
  const labels = metadata.labels ?? {};
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas,
      selector: { matchLabels: selectorOf(router) },
      // A new pod must be ready before an old pod is terminated.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels },
        spec: pod,
      },
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
