import type { L7Router } from '../../../api/index.ts';
import { type Provisioner, RefusedError } from '../../../ingress/provisioners/index.ts';
import { PROFILE } from './profile.ts';

const HOW =
  'Start the part routers of the manager with --octavia and the credentials of the cloud (value octavia.cluster of the installation).';

class NotConfiguredError extends RefusedError {
  readonly reason = 'NotConfigured';
}

/**
 * Takes the place of the provisioner in a manager without a cloud. Parameters of classes are checked, and their routers
 * report what is missing. Without it, nothing would happen to such a class, and nothing would say why.
 */
export const NOT_CONFIGURED: Provisioner = {
  ...PROFILE,
  ensure: () =>
    Promise.reject(
      new NotConfiguredError(`The manager has no access to Octavia: no load balancer is created. ${HOW}`),
    ),
  remove: async ({ status }: L7Router) => {
    if (status?.loadBalancer === undefined) return { gone: true };
    throw new NotConfiguredError(
      `The manager has no access to Octavia: load balancer ${status.loadBalancer.id} cannot be deleted. ${HOW}`,
    );
  },
};
