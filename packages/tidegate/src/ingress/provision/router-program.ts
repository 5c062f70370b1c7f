import type { KubeObject } from '@tidegate/kube';
import type { L7Router } from '../../api/index.ts';
import type { Identity } from './identity.ts';
import type { PodSpec } from './scheduling.ts';

export type Container = PodSpec['containers'][number];

/** A program that carries the bytes: what it needs besides an account, a Service and a place to run. */
export interface Flavour {
  needs(router: L7Router, identity: Identity): KubeObject[];
  pod(router: L7Router, identity: Identity, image: string): PodSpec;
}

/** Above those that only root may take. */
export const PORTS = { http: 8080, https: 8443, admin: 10254 } as const;

export const containerPorts = (): NonNullable<Container['ports']> =>
  Object.entries(PORTS).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' }));

/** Whether it lives is asked at one path, whether it serves at another. */
export const probes = (
  healthy: string,
  ready: string,
): Pick<Container, 'startupProbe' | 'readinessProbe' | 'livenessProbe'> => ({
  // Before it listens it is neither broken nor ready: nothing to tell anybody of.
  startupProbe: {
    httpGet: { path: healthy, port: 'admin' },
    initialDelaySeconds: 1,
    periodSeconds: 1,
    failureThreshold: 60,
  },
  readinessProbe: { httpGet: { path: ready, port: 'admin' }, periodSeconds: 2 },
  livenessProbe: { httpGet: { path: healthy, port: 'admin' }, periodSeconds: 10, failureThreshold: 6 },
});
