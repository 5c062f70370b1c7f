import { type Clock, silentLogger, systemClock } from '@tidegate/kube';
import type { L7Router } from '../../../packages/tidegate/src/api/index.ts';
import {
  type KuryrSettings,
  OctaviaProvisioner,
  Session,
} from '../../../packages/tidegate/src/dataplane/octavia/index.ts';
import type { Cloud } from '../../../packages/tidegate/src/dataplane/octavia/openstack/cloud.ts';
import type { Certificate, HostRoutes, Upstream } from '../../../packages/tidegate/src/ingress/model.ts';
import type { RouterSnapshot } from '../../../packages/tidegate/src/ingress/provisioners/index.ts';
import type { OctaviaServer } from './octavia.ts';

export const SUBNET = '9f6d8c9f-d22d-480e-80f5-867daa050ff8';
export const PROJECT = '868307936d384c21824e5eb0425a3f42';

/** A cloud without Keystone. */
export const openCloud = (url: string, more: Partial<Cloud['endpoints']> = {}): Cloud => ({
  auth: { type: 'none', projectId: PROJECT },
  interface: 'public',
  verify: true,
  endpoints: { 'load-balancer': url, ...more },
});

export const router = (
  name: string,
  parameters: Record<string, string> = {},
  status: L7Router['status'] = {},
): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name, generation: 1 },
  spec: {
    ingressClassName: 'gold',
    driver: 'octavia',
    parameters: { subnetId: SUBNET, certificates: 'local', ...parameters },
  },
  status,
});

export const snapshot = (
  hosts: readonly HostRoutes[],
  upstreams: readonly Upstream[],
  certificates: readonly Certificate[] = [],
): RouterSnapshot => ({
  routerGeneration: 1,
  generation: 1,
  hosts: new Map(hosts.map((each) => [each.host, each])),
  upstreams: new Map(upstreams.map((each) => [each.id, each])),
  certificates: new Map(certificates.map((each) => [each.host, each])),
  changes: {
    from: 0,
    to: 1,
    hosts: { set: hosts, remove: [] },
    upstreams: { set: upstreams, remove: [] },
    certificates: { set: certificates, remove: [] },
  },
});

export const context = { parameters: {}, log: silentLogger };
export const never = new AbortController().signal;

/** A manager's provisioner, as after a start. */
export function provisioner(
  server: Pick<OctaviaServer, 'certificates'>,
  session: Session,
  cluster = 'test',
  kuryr: KuryrSettings = {},
  clock: Clock = systemClock,
): OctaviaProvisioner {
  return new OctaviaProvisioner({
    session,
    cluster,
    kuryr,
    clock,
    log: silentLogger,
    certificateDirectory: server.certificates,
    waiting: { firstMs: 60, mostMs: 500 },
  });
}

export const session = (cloud: Cloud): Session => new Session(cloud, systemClock);

/** Calls `ensure` until the load balancer is ready. */
export async function ready(of: OctaviaProvisioner, object: L7Router) {
  for (;;) {
    const ensured = await of.ensure(object, context, never);
    if (ensured.ready) return ensured;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Calls `remove` until nothing is left. */
export async function removed(of: OctaviaProvisioner, object: L7Router): Promise<void> {
  while (!(await of.remove(object, context, never)).gone)
    await new Promise((resolve) => setTimeout(resolve, 200));
}
