import type { Capability, ProvisionerProfile } from '../../../ingress/provisioners/index.ts';
import { PARAMETERS } from './settings.ts';

const CAPABILITIES: readonly Capability[] = [
  'tls',
  'sslRedirect',
  'rulesWithoutHost',
  'backendHttps',
  'leastConnections',
  // Only those of the class. Routes with others are refused one by one, see refusals.ts.
  'connectTimeout',
  'readTimeout',
];

/** What is known about load balancers of Octavia without a connection to a cloud. */
export const PROFILE: ProvisionerProfile = {
  controller: 'tidegate.io/octavia',
  aliases: [],
  driver: 'octavia',
  // Each policy of a listener is tried in turn, and each change renders all of them. For each call, Octavia reads the whole
  // load balancer: with 1,000 rules, minutes on a busy machine.
  limits: { hosts: 1_000, rules: 1_000, certificates: 500, upstreams: 1_000 },
  capabilities: new Set(CAPABILITIES),
  parameters: PARAMETERS,
  programming: 'manager',
};
