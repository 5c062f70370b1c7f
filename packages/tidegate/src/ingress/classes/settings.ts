import {
  MOST_ROUTER_HOSTS,
  type RouterCapacity,
  type RouterClients,
  type RouterWorkload,
} from '../../api/index.ts';
import { readNginxConfig } from '../nginx-config/index.ts';
import {
  type Capacity,
  COMMON_PARAMETERS,
  checkParameters,
  durationMs,
  type Parameters,
  type ProvisionerProfile,
} from '../provisioners/index.ts';

/** Parsed parameters of a class. */
export interface ClassSettings {
  readonly capacity: RouterCapacity & { readonly maxHosts: number };
  /** The same for all routers of the class. */
  readonly workload: Omit<RouterWorkload, 'addresses' | 'nodePorts' | 'section'>;
  /** Fixed addresses and node ports, of which each router gets one. Absent: any. */
  readonly fixed: FixedAddresses;
  /** How clients reach the routers, and what these believe. Absent: nothing but the connection. */
  readonly clients?: RouterClients;
  /** Values of annotations of ingress-nginx for Ingresses that do not have them. */
  readonly ingressDefaults?: Readonly<Record<string, string>>;
  /** The routers of the class run in this pool. */
  readonly pool?: string;
  /** Classes with the same value share routers, and so an address. */
  readonly sharedAddress?: string;
  /** How long a host stays on its old router after it has moved. */
  readonly drainMs: number;
  /** Write the address of a router to an annotation of its nodes, in the format of Kuryr. */
  readonly publishNodeAnnotation: boolean;
  /** All parameters as they were written, for a provisioner that does not run Deployments. */
  readonly parameters?: Parameters;
}

export interface FixedAddresses {
  readonly addresses?: readonly string[];
  readonly httpNodePorts?: readonly number[];
  readonly httpsNodePorts?: readonly number[];
}

const DEFAULT_MAX_HOSTS = 10_000;
const DEFAULT_DRAIN_TIME = '5m';

/**
 * Parses the parameters of a class. `problems` are sentences for the user; if there are any, do not use the settings.
 * `unknown` parameters are reported and passed on. `ignored` ones are known, but routers do without them.
 */
export function readSettings(
  written: Parameters,
  profile: ProvisionerProfile,
  controller = profile.controller,
): {
  settings: ClassSettings;
  problems: string[];
  unknown: readonly string[];
  ignored: readonly { key: string; message: string }[];
} {
  const { problems, unknown } = checkParameters(written, profile, COMMON_PARAMETERS);
  const parameters = { ...profile.defaults?.(controller), ...written };
  return {
    settings: settingsOf(parameters, written, profile),
    problems: problems.map(({ key, message }) => `${key}: ${message}`),
    unknown,
    ignored: profile.moreParameters === undefined ? [] : readNginxConfig(written).ignored,
  };
}

export const knownParameters = ({ parameters }: ProvisionerProfile): string[] =>
  [...Object.keys(parameters.keys), ...Object.keys(COMMON_PARAMETERS)].toSorted();

export const isKnownParameter = (profile: ProvisionerProfile, name: string): boolean =>
  Object.hasOwn(profile.parameters.keys, name) ||
  Object.hasOwn(COMMON_PARAMETERS, name) ||
  profile.moreParameters?.names.has(name) === true;

/** The parameters that a tenant may set. */
export const tenantParameters = ({ parameters }: ProvisionerProfile): string[] =>
  Object.entries({ ...COMMON_PARAMETERS, ...parameters.keys })
    .filter(([, { byTenants }]) => byTenants === true)
    .map(([key]) => key);

function settingsOf(values: Parameters, written: Parameters, profile: ProvisionerProfile): ClassSettings {
  const text = (key: string): string | undefined => (Object.hasOwn(values, key) ? values[key] : undefined);
  const isWorkload = profile.programming === 'agent';
  return {
    capacity: capacityOf(profile.limits, number(text('maxHosts')), number(text('maxRules'))),
    workload: isWorkload ? workloadOf(text) : {},
    fixed: isWorkload ? fixedOf(text) : {},
    ...(isWorkload && requestSettings(values, text)),
    ...optional('pool', text('pool')),
    ...optional('sharedAddress', text('sharedAddress')),
    drainMs: durationMs(text('drainTime') ?? DEFAULT_DRAIN_TIME) ?? 0,
    publishNodeAnnotation: text('publishNodeAnnotation') === 'true',
    ...(!isWorkload && { parameters: written }),
  };
}

/** Parameters lower the limits of the provisioner, and never raise them. */
function capacityOf(
  limits: Capacity,
  maxHosts = DEFAULT_MAX_HOSTS,
  maxRules = Number.POSITIVE_INFINITY,
): ClassSettings['capacity'] {
  const rules = Math.min(maxRules, limits.rules ?? Number.POSITIVE_INFINITY);
  return {
    maxHosts: Math.min(maxHosts, limits.hosts ?? MOST_ROUTER_HOSTS, MOST_ROUTER_HOSTS),
    ...(Number.isFinite(rules) && { maxRules: rules }),
    ...optional('maxCertificates', limits.certificates),
    ...optional('maxUpstreams', limits.upstreams),
    ...optional('maxBytes', limits.bytes),
  };
}

type Text = (key: string) => string | undefined;

const workloadOf = (text: Text): ClassSettings['workload'] => ({
  ...optional('replicas', number(text('replicas'))),
  ...optional('image', text('image')),
  ...optional('namespace', text('namespace')),
  ...optional('serviceType', text('serviceType') as RouterWorkload['serviceType']),
  ...optional(
    'externalTrafficPolicy',
    text('externalTrafficPolicy') as RouterWorkload['externalTrafficPolicy'],
  ),
  ...optional('httpPort', number(text('httpPort'))),
  ...optional('httpsPort', number(text('httpsPort'))),
  ...optional('sharedPods', text('sharedPods')),
  ...(text('accessLog') !== undefined && { accessLog: text('accessLog') === 'true' }),
});

/** What the class says about requests. Absent if it says nothing. */
function requestSettings(values: Parameters, text: Text): Pick<ClassSettings, 'clients' | 'ingressDefaults'> {
  const { clients: believed, ingressDefaults } = readNginxConfig(values);
  const clients = {
    ...optional('httpPort', number(text('externalHttpPort'))),
    ...optional('httpsPort', number(text('externalHttpsPort'))),
    ...believed,
  };
  return {
    ...(Object.keys(clients).length > 0 && { clients }),
    ...(Object.keys(ingressDefaults).length > 0 && { ingressDefaults }),
  };
}

const fixedOf = (text: Text): FixedAddresses => ({
  ...optional('addresses', list(text('addresses'))),
  ...optional('httpNodePorts', list(text('httpNodePort'))?.map(Number)),
  ...optional('httpsNodePorts', list(text('httpsNodePort'))?.map(Number)),
});

const number = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text);

const list = (text: string | undefined): string[] | undefined =>
  text === undefined ? undefined : [...new Set(text.split(',').map((part) => part.trim()))];

const optional = <K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
