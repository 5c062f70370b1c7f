import type { Capability, ProvisionerProfile } from '../../../ingress/provisioners/index.ts';
import { PARAMETERS } from './settings.ts';

const CAPABILITIES: readonly Capability[] = [
  'tls',
  'sslRedirect',
  'rulesWithoutHost',
  'backendHttps',
  'leastConnections',
];

/** What is known about load balancers of Octavia without a connection to a cloud. */
export const PROFILE: ProvisionerProfile = {
  controller: 'tidegate.io/octavia',
  aliases: [],
  driver: 'octavia',
  // Each policy of a listener is tried in turn, and each change renders all of them.
  limits: { hosts: 2_000, rules: 5_000, certificates: 500, upstreams: 2_000 },
  capabilities: new Set(CAPABILITIES),
  parameters: PARAMETERS,
  programming: 'manager',
};
