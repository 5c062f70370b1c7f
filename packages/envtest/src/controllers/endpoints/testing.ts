/** Builders of objects for the tests in this folder. */
import type { Endpoints, Node, Pod, Service } from '@tidegate/kube';

export const service = (spec: NonNullable<Service['spec']>, metadata: Service['metadata'] = {}): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default', uid: 'service-uid', ...metadata },
  spec: {
    selector: { app: 'web' },
    clusterIP: '10.96.0.9',
    ports: [{ port: 80, targetPort: 8080 }],
    ...spec,
  },
});

export interface PodOptions {
  ip?: string;
  node?: string;
  ready?: boolean;
  phase?: string;
  terminating?: boolean;
  labels?: Record<string, string>;
  /** The ports of its only container, by name. */
  ports?: Record<string, number>;
  hostname?: string;
  subdomain?: string;
}

export function pod(name: string, options: PodOptions = {}): Pod {
  const { ip, node = 'n1', ready = true, phase = 'Running', terminating = false, ports = {} } = options;
  const containerPorts = Object.entries(ports).map(([port, containerPort]) => ({
    name: port,
    containerPort,
  }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-of-${name}`,
      labels: options.labels ?? { app: 'web' },
      ...(terminating && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: {
      nodeName: node,
      containers: [{ name: 'c', image: 'i', ports: containerPorts }],
      ...(options.hostname && { hostname: options.hostname }),
      ...(options.subdomain && { subdomain: options.subdomain }),
    },
    status: {
      phase,
      podIP: ip,
      podIPs: ip === undefined ? [] : [{ ip }],
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    },
  };
}

export const node = (name: string, labels: Record<string, string> = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels },
});

export const endpoints = (
  subsets: Endpoints['subsets'],
  metadata: Endpoints['metadata'] = {},
): Endpoints => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 'web', namespace: 'default', uid: 'endpoints-uid', ...metadata },
  subsets,
});
