import type { L7Router } from '../../api/index.ts';
import type { Deployment, KubeObject } from '../../kube/index.ts';
import { classesOf } from '../classes/index.ts';
import { selectorOf, workloadOf } from './identity.ts';
import { type PodSpec, placement } from './where.ts';

/** Above those that only root may take. */
const PORTS = { http: 8080, https: 8443, admin: 10254 } as const;
/** The working directory, so that the state is found below it wherever the root of the container is. */
const STATE_MOUNT = '/var/lib/tidegate';

/** The routers themselves. */
export function deployment(
  router: L7Router,
  metadata: KubeObject['metadata'],
  defaultImage: string,
): Deployment {
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
    // Before it listens it is neither broken nor ready: nothing to tell anybody of.
    startupProbe: {
      httpGet: { path: '/healthz', port: 'admin' },
      initialDelaySeconds: 1,
      periodSeconds: 1,
      failureThreshold: 60,
    },
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
