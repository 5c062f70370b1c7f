/**
 * L7Router: one provisioned load balancer. Its creator sets the class and the driver. The provisioner of the driver
 * creates the data plane and reports the addresses in the status.
 */
import type { Condition, KindResource, Metadata } from './object.ts';
import {
  ageColumn,
  type CustomResourceDefinition,
  conditions,
  definition,
  integer,
  list,
  listMap,
  object,
  type Schema,
  text,
  textMap,
  wholeObject,
} from './schema.ts';

/** Capacity of a router. When it is exceeded, the class gets another router. */
export type RouterCapacity = {
  maxHosts?: number;
  maxRules?: number;
  maxCertificates?: number;
  maxUpstreams?: number;
  maxBytes?: number;
};

/** Settings for provisioners that run routers as Deployments. */
export type RouterWorkload = {
  /** Default: `tidegate-routers`. */
  namespace?: string;
  replicas?: number;
  image?: string;
  serviceType?: 'NodePort' | 'LoadBalancer' | 'ClusterIP';
  /** External addresses that lead to the nodes. Used as `externalIPs` of the Service. */
  addresses?: string[];
  httpPort?: number;
  httpsPort?: number;
  nodePorts?: { http?: number; https?: number };
  /** Write one line of JSON per request to the log of the pod. */
  accessLog?: boolean;
};

export type L7RouterSpec = {
  ingressClassName: string;
  /** Additional classes that share the address of the router. */
  sharedWith?: string[];
  driver: string;
  /** The router runs in this pool and uses only endpoints of this pool. */
  pool?: string;
  capacity?: RouterCapacity;
  /** Hosts that were placed on the router, in lower case and sorted. If absent, all hosts of its classes. */
  hosts?: string[];
  /** Hosts that are moving to another router. They are removed from `hosts` when that router serves them. */
  leaving?: string[];
  workload?: RouterWorkload;
  /** The parameters of the class, for provisioners that do not run routers as Deployments. */
  parameters?: Record<string, string>;
};

/** Same format as in the status of an Ingress. */
export type RouterAddress = { ip?: string; hostname?: string; ports?: { port: number; protocol: string }[] };

/** Report of one running router. Each router applies its own entry, with the name of its pod as field manager. */
export type RouterAgent = { name: string; appliedGeneration: number; time?: string };

export type RouterProblem = { ingress: string; reason: string; message: string };

/** A host that is on the router, but that it does not serve. */
export type RouterFailedHost = { host: string; reason: string; message: string };

/** The load balancer outside of the cluster, with the fields of Kuryr's annotation. */
export type RouterLoadBalancer = {
  id?: string;
  /** Inside of its network. `status.addresses` is where clients reach it. */
  ip?: string;
  name?: string;
  portID?: string;
  projectID?: string;
  subnetID?: string;
};

export type L7RouterStatus = {
  observedGeneration?: number;
  addresses?: RouterAddress[];
  hosts?: number;
  rules?: number;
  agents?: RouterAgent[];
  /** Generation that all ready routers have applied. */
  appliedGeneration?: number;
  /** Hosts that are not served although the router has applied the generation. */
  failedHosts?: RouterFailedHost[];
  loadBalancer?: RouterLoadBalancer;
  /** The first problems. `problemCount` is the total number. */
  problems?: RouterProblem[];
  problemCount?: number;
  conditions?: Condition[];
};

export type L7Router = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: L7RouterSpec;
  status?: L7RouterStatus;
};

export const L7_ROUTERS: KindResource<L7Router> = {
  group: 'networking.tidegate.io',
  version: 'v1alpha1',
  resource: 'l7routers',
  namespaced: false,
};

/** More hosts would exceed the size limit of an object. */
export const MOST_ROUTER_HOSTS = 20_000;
export const MOST_ROUTER_PROBLEMS = 20;
export const MOST_FAILED_HOSTS = 1_000;

const port = (description: string): Schema => integer(description, { minimum: 1, maximum: 65_535 });
const count = (description: string): Schema => integer(description, { minimum: 0 });
const generation = (description: string): Schema => ({ type: 'integer', format: 'int64', description });
const shortText = (description: string): Schema => text(description, { minLength: 1, maxLength: 253 });

const workload = object('Settings for provisioners that run routers as a Deployment with a Service.', {
  namespace: text(
    'Namespace of the Deployment and the Service. Default: tidegate-routers. The administrator has to allow others.',
    {
      minLength: 1,
      maxLength: 63,
    },
  ),
  replicas: integer('Number of router pods.', { minimum: 0 }),
  image: text('Container image of the router. The administrator has to allow it, unless it is the default.', {
    minLength: 1,
  }),
  serviceType: text('Type of the Service in front of the router.', {
    enum: ['NodePort', 'LoadBalancer', 'ClusterIP'],
  }),
  addresses: list(
    'External addresses that lead to the nodes, used as externalIPs of the Service. The administrator has to allow them.',
    {
      type: 'string',
      minLength: 1,
    },
  ),
  httpPort: port('Port of the Service for HTTP. Default: 80.'),
  httpsPort: port('Port of the Service for HTTPS. Default: 443.'),
  nodePorts: object('Node ports of the Service. Default: allocated by Kubernetes.', {
    http: port('Node port for HTTP.'),
    https: port('Node port for HTTPS.'),
  }),
  accessLog: {
    type: 'boolean',
    description: 'Write one line of JSON per request to the log of the router pods.',
  },
});

const spec = object(
  'Desired state of the router.',
  {
    ingressClassName: shortText('IngressClass whose Ingresses the router serves.'),
    sharedWith: list(
      'Additional IngressClasses that the router serves at the same address.',
      shortText('Name of an IngressClass.'),
      {
        maxItems: 1_000,
        'x-kubernetes-list-type': 'atomic',
      },
    ),
    driver: text(
      'Provisioner of the router: nginx, embedded or octavia, or a controller name, for example example.com/f5.',
      { minLength: 1, maxLength: 253 },
    ),
    pool: text(
      'NodePool or NodeGroup that the router runs in. The router then uses only endpoints of this pool.',
      {
        minLength: 1,
        maxLength: 63,
      },
    ),
    capacity: object('Capacity of the router. When it is exceeded, the class gets another router.', {
      maxHosts: integer('Maximum number of hosts.', { minimum: 1 }),
      maxRules: integer('Maximum number of paths and default backends of all hosts.', { minimum: 1 }),
      maxCertificates: integer('Maximum number of hosts with a certificate.', { minimum: 1 }),
      maxUpstreams: integer('Maximum number of different backends.', { minimum: 1 }),
      maxBytes: integer('Maximum size of the names of hosts, paths and backends.', { minimum: 1 }),
    }),
    hosts: list(
      'Hosts that were placed on the router. If absent, the router serves all hosts of its classes. Rules without a host are on every router.',
      { type: 'string', minLength: 1, maxLength: 253 },
      { maxItems: MOST_ROUTER_HOSTS, 'x-kubernetes-list-type': 'atomic' },
    ),
    leaving: list(
      'Hosts that are moving to another router. Must also be in hosts. They are removed when the other router serves them.',
      { type: 'string', minLength: 1, maxLength: 253 },
      { maxItems: MOST_ROUTER_HOSTS, 'x-kubernetes-list-type': 'atomic' },
    ),
    workload,
    parameters: textMap(
      'Parameters of the class as its author wrote them, for provisioners that do not run routers as Deployments.',
      { maxProperties: 512 },
    ),
  },
  {
    required: ['ingressClassName', 'driver'],
    'x-kubernetes-validations': [
      {
        rule: '!has(self.sharedWith) || !(self.ingressClassName in self.sharedWith)',
        message: 'sharedWith must not contain ingressClassName: remove it',
      },
    ],
  },
);

const address = object('An address, in the format of the status of an Ingress.', {
  ip: text('IP address. Set if hostname is not set.'),
  hostname: text('DNS name. Set if ip is not set.'),
  ports: list(
    'Ports of the address.',
    object(
      'A port.',
      { port: integer('Port number.'), protocol: text('TCP.') },
      { required: ['port', 'protocol'] },
    ),
  ),
});

const agent = object(
  'Report of one running router.',
  {
    name: text('Name of the router pod.'),
    appliedGeneration: generation('Generation of the L7Router that this router has applied.'),
    time: text('Time at which this router applied the generation.', { format: 'date-time' }),
  },
  { required: ['name', 'appliedGeneration'] },
);

const status = object('Most recently observed state of the router.', {
  observedGeneration: generation('Generation of the spec that the status was computed from.'),
  addresses: list('Addresses at which clients reach the router.', address),
  hosts: count('Number of hosts that the router serves.'),
  rules: count('Number of paths and default backends that the router serves.'),
  agents: listMap('Reports of the running routers.', 'name', agent),
  appliedGeneration: generation('Generation of the L7Router that all ready routers have applied.'),
  failedHosts: list(
    'Hosts that are not served, although the router has applied the generation.',
    object(
      'A host that is not served.',
      {
        host: text('The host. Empty for rules without a host.', { maxLength: 253 }),
        reason: text('Machine-readable reason in CamelCase.', { maxLength: 63 }),
        message: text('Human-readable explanation.', { maxLength: 1_024 }),
      },
      { required: ['host', 'reason', 'message'] },
    ),
    { maxItems: MOST_FAILED_HOSTS, 'x-kubernetes-list-type': 'atomic' },
  ),
  loadBalancer: object('The load balancer, if it is outside of the cluster.', {
    id: text('Identifies the load balancer in its cloud.'),
    ip: text('Address in its network. Clients use status.addresses.'),
    name: text('Name of the load balancer.'),
    portID: text('Network port of the load balancer.'),
    projectID: text('Project that owns the load balancer.'),
    subnetID: text('Subnet of the load balancer.'),
  }),
  problems: list(
    'The first problems of Ingresses that the router serves.',
    object('A problem of an Ingress.', {
      ingress: text('Namespace and name of the Ingress.'),
      reason: text('Machine-readable reason in CamelCase.'),
      message: text('Human-readable explanation.'),
    }),
  ),
  problemCount: count('Total number of problems.'),
  conditions: conditions('Conditions of the router: Ready, RolledOut, Provisioned and CapacityReached.'),
});

const schema = wholeObject('L7Router is one provisioned load balancer of an IngressClass.', spec, status, {
  required: ['spec'],
  'x-kubernetes-validations': [
    {
      rule: 'size(self.metadata.name) <= 63',
      message: 'metadata.name is used as a label value on pods: use at most 63 characters',
    },
  ],
});

export const l7RouterDefinition = (): CustomResourceDefinition =>
  definition({
    group: L7_ROUTERS.group,
    kind: 'L7Router',
    plural: L7_ROUTERS.resource,
    shortNames: ['l7r'],
    scope: 'Cluster',
    versions: ['v1alpha1'],
    schema,
    columns: [
      {
        name: 'Class',
        type: 'string',
        jsonPath: '.spec.ingressClassName',
        description: 'IngressClass of the router',
      },
      { name: 'Driver', type: 'string', jsonPath: '.spec.driver', description: 'Data plane of the router' },
      {
        name: 'Address',
        type: 'string',
        jsonPath: '.status.addresses[*].ip',
        description: 'Address of the router',
      },
      { name: 'Hosts', type: 'integer', jsonPath: '.status.hosts', description: 'Number of hosts' },
      { name: 'Rules', type: 'integer', jsonPath: '.status.rules', description: 'Number of paths' },
      {
        name: 'Ready',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Ready")].status',
        description: 'True if the router serves all of its hosts',
      },
      {
        name: 'Reason',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
        description: 'Reason of the Ready condition',
        priority: 1,
      },
      ageColumn,
    ],
  });
