import { INGRESS_CONTROLLER_PREFIX, MOST_ROUTER_HOSTS } from '../../api/index.ts';
import { CONFIG_KEYS, readNginxConfig } from '../nginx-config/index.ts';
import { CLOUD_NAMES, NGINX_NAMES } from '../own-controllers.ts';
import { CAPABILITIES, type Capability } from './capabilities.ts';
import type { ProvisionerProfile } from './contract.ts';
import type { MoreParameters, ParameterProblem, ParameterRule, ParameterSchema } from './parameters.ts';

const port = (description: string): ParameterRule => ({
  description,
  type: 'integer',
  minimum: 1,
  maximum: 65_535,
});

/** Parameters of all classes, whatever their provisioner. The manager itself uses them. */
export const COMMON_PARAMETERS: Readonly<Record<string, ParameterRule>> = {
  maxHosts: {
    description: 'Maximum number of hosts on one router.',
    type: 'integer',
    minimum: 1,
    maximum: MOST_ROUTER_HOSTS,
    default: '10000',
    byTenants: true,
  },
  maxRules: {
    description: 'Maximum number of paths and default backends on one router.',
    type: 'integer',
    minimum: 1,
    maximum: 10_000_000,
    byTenants: true,
  },
  pool: { description: 'The NodePool or NodeGroup that the routers run in.', format: 'name' },
  sharedAddress: {
    description: 'Classes with the same value share routers and their addresses.',
    format: 'name',
  },
  drainTime: {
    description: 'How long a host stays on its old router after it has moved to another router.',
    format: 'duration',
    default: '5m',
  },
  publishNodeAnnotation: { description: "Write addresses to Kuryr's annotation of nodes.", type: 'boolean' },
};

/** Parameters of routers that run as Deployments. */
const WORKLOAD_PARAMETERS: ParameterSchema = {
  keys: {
    replicas: { description: 'Number of router pods.', type: 'integer', minimum: 0, maximum: 1_000 },
    image: { description: 'Container image of the router.' },
    namespace: { description: 'Namespace of the workload.', format: 'name' },
    serviceType: {
      description: 'Type of the Service.',
      enum: ['NodePort', 'LoadBalancer', 'ClusterIP'],
      default: 'NodePort',
    },
    addresses: { description: 'External addresses, one for each router.', format: 'ip', list: true },
    externalTrafficPolicy: {
      description: 'externalTrafficPolicy of the Service. With Local, routers see the addresses of clients.',
      enum: ['Cluster', 'Local'],
      default: 'Cluster',
    },
    externalHttpPort: port('Port that clients connect to over HTTP, if it is not that of the Service.'),
    externalHttpsPort: port('Port that clients connect to over HTTPS, if it is not that of the Service.'),
    httpPort: port('Port of the Service for HTTP.'),
    httpsPort: port('Port of the Service for HTTPS.'),
    httpNodePort: { ...port('Node ports for HTTP, one for each router.'), list: true },
    httpsNodePort: { ...port('Node ports for HTTPS, one for each router.'), list: true },
    sharedPods: {
      description: 'Classes with the same value run in the same pods, each with an address of its own.',
      format: 'dnsLabel',
      maxLength: 40,
    },
    accessLog: { description: 'Write one line of JSON per request.', type: 'boolean', byTenants: true },
  },
};

/** The keys of the ConfigMap of ingress-nginx. */
const NGINX_CONFIG: MoreParameters = {
  names: CONFIG_KEYS,
  problems: (parameters) => [...readNginxConfig(parameters).problems, ...conflicts(parameters)],
};

/** What cannot be combined. */
function conflicts(parameters: Readonly<Record<string, string>>): ParameterProblem[] {
  const { sharedPods, externalTrafficPolicy, serviceType } = parameters;
  const hasProxyProtocol = parameters['use-proxy-protocol']?.trim().toLowerCase() === 'true';
  return [
    ...(hasProxyProtocol && sharedPods !== undefined
      ? [
          {
            key: 'use-proxy-protocol',
            message:
              'cannot be combined with sharedPods, whose listeners serve all classes: remove one of them',
          },
        ]
      : []),
    ...(externalTrafficPolicy !== undefined && serviceType === 'ClusterIP'
      ? [
          {
            key: 'externalTrafficPolicy',
            message:
              'needs serviceType NodePort or LoadBalancer: a Service of type ClusterIP has no external traffic',
          },
        ]
      : []),
  ];
}

const ALL_CAPABILITIES: ReadonlySet<Capability> = new Set(Object.keys(CAPABILITIES) as Capability[]);

/** Routers in the cluster, which Tidegate runs as Deployments. */
const workload = (driver: string, aliases: readonly string[] = []): ProvisionerProfile => ({
  controller: `${INGRESS_CONTROLLER_PREFIX}${driver}`,
  aliases,
  driver,
  // `spec.hosts` lists every host, and an object can have about 1.5 MB.
  limits: { hosts: MOST_ROUTER_HOSTS },
  capabilities: ALL_CAPABILITIES,
  parameters: WORKLOAD_PARAMETERS,
  moreParameters: NGINX_CONFIG,
  programming: 'agent',
  // In a cloud, a Service of this type gets a load balancer of the cloud in front of the routers.
  defaults: (controller): Record<string, string> =>
    CLOUD_NAMES.includes(controller) ? { serviceType: 'LoadBalancer' } : {},
});

/** The provisioners that every manager has. */
export const BUILT_IN: readonly ProvisionerProfile[] = [workload('nginx', NGINX_NAMES), workload('embedded')];
