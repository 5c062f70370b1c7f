import { isIP } from 'node:net';
import type { L7Router } from '../../../api/index.ts';
import {
  type ParameterRule,
  type ParameterSchema,
  RefusedError,
} from '../../../ingress/provisioners/index.ts';
import type { KuryrSettings } from '../openstack/index.ts';
import type { HealthMonitor, Member, WantedOptions } from '../plan/index.ts';

/** Parsed parameters of a class. */
export interface OctaviaSettings {
  readonly subnetId: string;
  readonly vipAddress?: string;
  /** Floating IPs come from this subnet. Without it and without `floatingIp`, there is none. */
  readonly externalSubnetId?: string;
  readonly floatingIp?: string;
  readonly keepFloatingIp: boolean;
  readonly provider?: string;
  readonly flavorId?: string;
  readonly availabilityZone?: string;
  readonly certificates: 'barbican' | 'local';
  readonly wanted: Omit<WantedOptions, 'certificatePrefix' | 'hasStore'>;
}

const uuid = (description: string): ParameterRule => ({ description, format: 'uuid' });
const text = (description: string, more: Partial<ParameterRule> = {}): ParameterRule => ({
  description,
  ...more,
});

export const PARAMETERS: ParameterSchema = {
  unknown: 'reject',
  keys: {
    subnetId: uuid('Subnet of the load balancer. Default: service_subnet in kuryr.conf.'),
    vipAddress: text('Address of the load balancer in its subnet.', { format: 'ip' }),
    externalSubnetId: uuid(
      'A floating IP is allocated from this subnet. Default: external_svc_subnet in kuryr.conf.',
    ),
    floatingIp: text('A floating IP that exists already. It is never deleted.', { format: 'ip' }),
    keepFloatingIp: text('Keep the floating IP when the router is deleted.', {
      type: 'boolean',
      default: 'false',
    }),
    members: text('What the load balancer connects to.', { enum: ['pods', 'nodePorts'], default: 'pods' }),
    memberSubnetId: uuid('Subnet of the members, if the load balancer cannot reach them from its own.'),
    provider: text('Provider of Octavia.', { maxLength: 64 }),
    flavorId: uuid('Flavor of the load balancer.'),
    availabilityZone: text('Availability zone of the load balancer.', { maxLength: 255 }),
    certificates: text('Where Octavia reads certificates.', {
      enum: ['barbican', 'local'],
      default: 'barbican',
    }),
    healthMonitor: text('How members are checked.', { enum: ['none', 'tcp', 'http'], default: 'none' }),
    healthMonitorPath: text('Path of the check over HTTP.', { default: '/', maxLength: 255 }),
    connectTimeout: text('Timeout of connections to members.', { format: 'duration', default: '5s' }),
    readTimeout: text('Timeout between two reads from a member.', { format: 'duration', default: '60s' }),
    allowedCidrs: text('Comma-separated networks that may connect. Default: all.', { maxLength: 4096 }),
    notFound: text('Comma-separated servers, as address:port, that answer requests without a route.', {
      maxLength: 4096,
    }),
  },
};

type Parameters = Readonly<Record<string, string>>;

/** Throws RefusedError: only another value of the class helps. */
export function readSettings({ spec }: L7Router, kuryr: KuryrSettings): OctaviaSettings {
  const given: Parameters = spec.parameters ?? {};
  const subnetId = given.subnetId ?? kuryr.serviceSubnetId;
  if (subnetId === undefined)
    throw new RefusedError(
      `The class ${spec.ingressClassName} has no subnet for its load balancer: set the parameter subnetId, or service_subnet in kuryr.conf.`,
    );
  const externalSubnetId = given.externalSubnetId ?? kuryr.externalSubnetId;
  const listener = {
    connectTimeoutMs: durationOf(given.connectTimeout ?? '5s'),
    readTimeoutMs: durationOf(given.readTimeout ?? '60s'),
    allowedCidrs: listOf(given.allowedCidrs).toSorted(),
  };
  const monitor = monitorOf(given);
  const notFound = listOf(given.notFound).map(memberOf);
  return {
    subnetId,
    ...picked(given, 'vipAddress', 'floatingIp', 'provider', 'flavorId', 'availabilityZone'),
    ...(externalSubnetId !== undefined && { externalSubnetId }),
    keepFloatingIp: given.keepFloatingIp === 'true',
    certificates: given.certificates === 'local' ? 'local' : 'barbican',
    wanted: {
      http: { ...listener, port: 80 },
      https: { ...listener, port: 443 },
      ...(monitor !== undefined && { monitor }),
      ...(given.memberSubnetId !== undefined && { memberSubnet: given.memberSubnetId }),
      ...(notFound.length > 0 && { notFound }),
    },
  };
}

const picked = (given: Parameters, ...names: string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (given[name] ? [[name, `${given[name]}`]] : [])));

function monitorOf({
  healthMonitor = 'none',
  healthMonitorPath = '/',
}: Parameters): HealthMonitor | undefined {
  if (healthMonitor === 'none') return undefined;
  const times = { delay: 5, timeout: 3, retries: 3 };
  return healthMonitor === 'http'
    ? { type: 'HTTP', ...times, path: healthMonitorPath }
    : { type: 'TCP', ...times };
}

const listOf = (value = ''): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function durationOf(value: string): number {
  const [, number, unit] = /^(\d+)(ms|s|m|h)$/.exec(value) ?? [];
  const factor = UNITS[unit ?? ''];
  if (number !== undefined && factor !== undefined) return Number(number) * factor;
  throw new RefusedError(`${value} is not a duration: write for example 500ms, 30s or 5m.`);
}

function memberOf(written: string): Member {
  const [, address = '', port = ''] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(written) ?? [];
  if (isIP(address) === 0 || Number(port) < 1 || Number(port) > 65_535)
    throw new RefusedError(
      `notFound: ${written} is invalid: write an IP address and a port, for example 10.0.0.9:80.`,
    );
  return { address: address.toLowerCase(), port: Number(port), weight: 1 };
}
