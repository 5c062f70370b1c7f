/** What `ensure` reports about a load balancer. Pure. */
import type { L7Router } from '../../../api/index.ts';
import type { Ensured, LoadBalancer } from '../../../ingress/provisioners/index.ts';
import { type OctaviaObject, textIn } from '../openstack/index.ts';

/** How often the status of a load balancer is read that is being created or deleted. */
export const POLL_MS = 1_000;

export const REPAIRS = {
  failover: 'The load balancer is in the status ERROR. Octavia replaces its machines.',
  deleted: 'The load balancer is in the status ERROR. It is created again with the same address.',
};

/** Keeps the addresses, so that the status of Ingresses is stable while a load balancer is repaired. */
export const notReady = (
  router: L7Router,
  reason: string,
  message: string,
  found: OctaviaObject,
): Ensured => ({
  addresses: router.status?.addresses ?? [],
  ready: false,
  reason,
  message,
  loadBalancer: factsOf(found),
  againAfterMs: POLL_MS,
});

export const retryLater = (router: L7Router, waitMs: number): Ensured => ({
  addresses: router.status?.addresses ?? [],
  ready: false,
  reason: 'LoadBalancerError',
  message: `The last load balancers of the router ended in the status ERROR. The next attempt is in ${Math.ceil(waitMs / 1000)} seconds. The administrator of the cloud finds the reason in the log of the worker of Octavia.`,
  againAfterMs: waitMs,
});

export const notInEffect = (differing: readonly string[]): Pick<Ensured, 'reason' | 'message'> =>
  differing.length === 0
    ? {}
    : {
        reason: 'SettingsNotInEffect',
        message: `Octavia cannot change these settings of an existing load balancer: ${differing.join('; ')}. Set the parameters back, or create another class and move the Ingresses to it.`,
      };

export const factsOf = (found: OctaviaObject): LoadBalancer => ({
  id: found.id,
  ip: textIn(found, 'vip_address'),
  name: textIn(found, 'name'),
  portID: textIn(found, 'vip_port_id'),
  projectID: textIn(found, 'project_id'),
  subnetID: textIn(found, 'vip_subnet_id'),
});
