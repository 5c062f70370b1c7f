import type { KubeObject } from '@tidegate/kube';
import type { L7Router } from '../../api/index.ts';
import type { Identity } from './identity.ts';
import type { PodSpec } from './scheduling.ts';

export type Container = PodSpec['containers'][number];

/** A program that can run as a router. Every router also has a Service and a Deployment. */
export interface RouterProgram {
  /** The ServiceAccount of the pods, and whether it is created with the router. */
  account(identity: Identity): { name: string; isProvisioned: boolean };
  /** Additional objects, for example RBAC objects and ConfigMaps. They are created before the pods. */
  needs(router: L7Router, identity: Identity, account: string): KubeObject[];
  /** The pod spec, without the service account and without scheduling constraints. */
  pod(router: L7Router, identity: Identity, image: string, ports: RouterPorts): PodSpec;
}

/** The ports of a router in its pod. */
export interface RouterPorts {
  readonly http: number;
  readonly https: number;
  readonly admin: number;
}

/** Container ports above 1024, which need no privileges. */
export const PORTS: RouterPorts = { http: 8080, https: 8443, admin: 10254 };

export const containerPorts = (ports: RouterPorts): NonNullable<Container['ports']> =>
  Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' }));

/** `healthy` is the path of the startup and liveness probes, `ready` that of the readiness probe. */
export const probes = (
  healthy: string,
  ready: string,
): Pick<Container, 'startupProbe' | 'readinessProbe' | 'livenessProbe'> => ({
  // Until the startup probe succeeds, the kubelet runs no other probes, so a slow start causes no warnings.
  startupProbe: {
    httpGet: { path: healthy, port: 'admin' },
    initialDelaySeconds: 1,
    periodSeconds: 1,
    timeoutSeconds: 5,
    failureThreshold: 60,
  },
  // A program that hangs does not answer, while its nginx serves on. It stays ready until it has been restarted.
  // A busy node delays answers by seconds.
  readinessProbe: {
    httpGet: { path: ready, port: 'admin' },
    periodSeconds: 2,
    timeoutSeconds: 5,
    failureThreshold: 20,
  },
  livenessProbe: {
    httpGet: { path: healthy, port: 'admin' },
    periodSeconds: 10,
    timeoutSeconds: 5,
    failureThreshold: 6,
  },
});
