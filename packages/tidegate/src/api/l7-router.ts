/**
 * L7Router: one provisioned load balancer. Whoever makes one says of which class it is and what serves it; the
 * provisioner of its driver makes what carries the bytes, and tells in the status where it is reached.
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
  wholeObject,
} from './schema.ts';

/** How much a router takes before the class needs another one. */
export type RouterCapacity = { maxHosts?: number; maxRules?: number };

/** What a provisioner of Deployments makes of it. */
export type RouterWorkload = {
  /** `tidegate-system` when absent. */
  namespace?: string;
  replicas?: number;
  image?: string;
  serviceType?: 'NodePort' | 'LoadBalancer' | 'ClusterIP';
  /** Addresses that lead to the nodes from outside: the `externalIPs` of the Service. */
  addresses?: string[];
  httpPort?: number;
  httpsPort?: number;
  nodePorts?: { http?: number; https?: number };
  /** A line of JSON for each request, in the log of the pod. */
  accessLog?: boolean;
};

export type L7RouterSpec = {
  ingressClassName: string;
  /** Further classes that share its address. */
  sharedWith?: string[];
  driver: string;
  /** Only endpoints of this pool are used, and the router stands in it. */
  pool?: string;
  capacity?: RouterCapacity;
  /** Absent: all hosts of its classes. Otherwise those that were placed here. Lower case, sorted. */
  hosts?: string[];
  /** Of the hosts those that another router has been given too: they go from here as soon as that one serves them. */
  leaving?: string[];
  workload?: RouterWorkload;
};

/** As in the status of an Ingress. */
export type RouterAddress = { ip?: string; hostname?: string; ports?: { port: number; protocol: string }[] };

/** One running router says which generation of this object it goes by. Applied with the name of its pod as field manager. */
export type RouterAgent = { name: string; appliedGeneration: number; time?: string };

export type RouterProblem = { ingress: string; reason: string; message: string };

export type L7RouterStatus = {
  observedGeneration?: number;
  addresses?: RouterAddress[];
  hosts?: number;
  rules?: number;
  agents?: RouterAgent[];
  /** What every ready agent goes by, at least. */
  appliedGeneration?: number;
  /** The first few; `problemCount` is how many there are. */
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

/** A list of more would not fit into an object. */
export const MOST_ROUTER_HOSTS = 20_000;
export const MOST_ROUTER_PROBLEMS = 20;

const port = (description: string): Schema => integer(description, { minimum: 1, maximum: 65_535 });
const count = (description: string): Schema => integer(description, { minimum: 0 });
const generation = (description: string): Schema => ({ type: 'integer', format: 'int64', description });
const shortText = (description: string): Schema => text(description, { minLength: 1, maxLength: 253 });

const workload = object('What a provisioner of Deployments makes of it.', {
  namespace: text('Where they are. Without it, tidegate-system.', { minLength: 1, maxLength: 63 }),
  replicas: integer('How many routers carry the traffic together.', { minimum: 0 }),
  image: text('The image of the router.', { minLength: 1 }),
  serviceType: text('How the router is reached from outside.', {
    enum: ['NodePort', 'LoadBalancer', 'ClusterIP'],
  }),
  addresses: list('Addresses that lead to the nodes from outside.', { type: 'string', minLength: 1 }),
  httpPort: port('The port for HTTP. Without it, 80.'),
  httpsPort: port('The port for HTTPS. Without it, 443.'),
  nodePorts: object('Ports on every node, instead of any that are free.', {
    http: port('For HTTP.'),
    https: port('For HTTPS.'),
  }),
  accessLog: { type: 'boolean', description: 'A line of JSON for each request, in the log of the pod.' },
});

const spec = object(
  'What the router is for.',
  {
    ingressClassName: shortText('The class whose Ingresses it serves.'),
    sharedWith: list('Further classes that share its address.', shortText('One class.'), {
      maxItems: 1_000,
      'x-kubernetes-list-type': 'atomic',
    }),
    driver: text('What carries the bytes, such as nginx or embedded.', { minLength: 1, maxLength: 63 }),
    pool: text('The pool it stands in: then only endpoints of that pool are used.', {
      minLength: 1,
      maxLength: 63,
    }),
    capacity: object('How much it takes before the class needs another router.', {
      maxHosts: integer('Hosts.', { minimum: 1 }),
      maxRules: integer('Paths and default backends of all hosts together.', { minimum: 1 }),
    }),
    hosts: list(
      'The hosts that were placed on it. Absent: all hosts of its classes. What is for all hosts is on every router.',
      { type: 'string', minLength: 1, maxLength: 253 },
      { maxItems: MOST_ROUTER_HOSTS, 'x-kubernetes-list-type': 'atomic' },
    ),
    leaving: list(
      'Of the hosts those that another router has been given too: they go from here as soon as that one serves them.',
      { type: 'string', minLength: 1, maxLength: 253 },
      { maxItems: MOST_ROUTER_HOSTS, 'x-kubernetes-list-type': 'atomic' },
    ),
    workload,
  },
  {
    required: ['ingressClassName', 'driver'],
    'x-kubernetes-validations': [
      {
        rule: '!has(self.sharedWith) || !(self.ingressClassName in self.sharedWith)',
        message: 'sharedWith is for further classes: remove ingressClassName from it',
      },
    ],
  },
);

const address = object('One address; as in the status of an Ingress.', {
  ip: text('An IP address.'),
  hostname: text('Or a name.'),
  ports: list(
    'The ports it is reached at.',
    object(
      'One port.',
      { port: integer('Its number.'), protocol: text('TCP.') },
      { required: ['port', 'protocol'] },
    ),
  ),
});

const agent = object(
  'One running router.',
  {
    name: text('The name of its pod.'),
    appliedGeneration: generation('The generation of this object that it goes by.'),
    time: text('Since when.', { format: 'date-time' }),
  },
  { required: ['name', 'appliedGeneration'] },
);

const status = object('What became of it.', {
  observedGeneration: generation('The generation this speaks of.'),
  addresses: list('Where it is reached.', address),
  hosts: count('How many hosts it serves.'),
  rules: count('How many paths and default backends.'),
  agents: listMap('The routers that run.', 'name', agent),
  appliedGeneration: generation('The generation that all ready routers go by, at least.'),
  problems: list(
    'What is wrong with Ingresses that it serves: the first few.',
    object('One problem.', {
      ingress: text('Its namespace and name.'),
      reason: text('In one CamelCase word.'),
      message: text('In a sentence.'),
    }),
  ),
  problemCount: count('How many problems there are.'),
  conditions: conditions('Ready, RolledOut, Provisioned and CapacityReached.'),
});

const schema = wholeObject('One provisioned load balancer.', spec, status, {
  required: ['spec'],
  'x-kubernetes-validations': [
    {
      rule: 'size(self.metadata.name) <= 63',
      message: 'the name is written to pods as the value of a label: choose one of at most 63 characters',
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
      { name: 'Class', type: 'string', jsonPath: '.spec.ingressClassName', description: 'The IngressClass' },
      { name: 'Driver', type: 'string', jsonPath: '.spec.driver', description: 'What carries the bytes' },
      {
        name: 'Address',
        type: 'string',
        jsonPath: '.status.addresses[*].ip',
        description: 'Where it is reached',
      },
      { name: 'Hosts', type: 'integer', jsonPath: '.status.hosts', description: 'How many hosts' },
      { name: 'Rules', type: 'integer', jsonPath: '.status.rules', description: 'How many paths' },
      {
        name: 'Ready',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Ready")].status',
        description: 'Whether it serves them',
      },
      {
        name: 'Reason',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
        description: 'Why, or why not',
        priority: 1,
      },
      ageColumn,
    ],
  });
