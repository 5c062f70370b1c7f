/** The CustomResourceDefinition of L7Router: its schema and its columns. */
import {
  L7_ROUTERS,
  MOST_FAILED_HOSTS,
  MOST_PROBLEM_TEXT,
  MOST_ROUTER_HOSTS,
  MOST_ROUTER_PROBLEMS,
  MOST_SECRET_GROUPS,
  MOST_SECTIONS,
} from './l7-router.ts';
import {
  ageColumn,
  type CustomResourceDefinition,
  conditions,
  definition,
  flag,
  integer,
  list,
  listMap,
  object,
  type Schema,
  text,
  textMap,
  wholeObject,
} from './schema.ts';

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
  externalTrafficPolicy: text(
    'externalTrafficPolicy of the Service. With Local, routers see the addresses of clients, and only nodes with a router pod answer.',
    { enum: ['Cluster', 'Local'] },
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
  sharedPods: text(
    'Routers with the same value run in the same pods. Each of them has its own Service and its own address.',
    { minLength: 1, maxLength: 40, pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' },
  ),
  section: integer(
    'Number of the router in its shared pods. It determines the ports of the pods that its Service leads to.',
    { minimum: 1, maximum: MOST_SECTIONS },
  ),
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
    departing: list(
      'Ingresses, as namespace/name, that have changed to another class. The router serves them until the routers of their new class do, and the drain time is over.',
      { type: 'string', minLength: 3, maxLength: 317 },
      { maxItems: MOST_ROUTER_HOSTS, 'x-kubernetes-list-type': 'atomic' },
    ),
    departingSince: list(
      'When the Ingresses in departing have left their class. An Ingress waits at most one hour for the routers of its new class.',
      object(
        'An Ingress that has left its class.',
        {
          ingress: text('The Ingress, as namespace/name.', { minLength: 3, maxLength: 317 }),
          since: text('Time at which the Ingress left.', { format: 'date-time' }),
        },
        { required: ['ingress', 'since'] },
      ),
      { maxItems: MOST_ROUTER_HOSTS, 'x-kubernetes-list-type': 'atomic' },
    ),
    departedClasses: list(
      'Classes that have left the shared address, while their Ingresses are in departing. The router serves these Ingresses for the hosts that their namespaces had at that time.',
      object(
        'A class that has left the shared address.',
        {
          ingressClassName: text('Name of the IngressClass.', { minLength: 1, maxLength: 253 }),
          since: text('Time at which the class left. Later HostClaims of the class do not count.', {
            format: 'date-time',
          }),
        },
        { required: ['ingressClassName', 'since'] },
      ),
      { maxItems: MOST_ROUTER_HOSTS, 'x-kubernetes-list-type': 'atomic' },
    ),
    workload,
    clients: object('How clients reach the router, and what the router believes about them.', {
      httpPort: port('Port that clients connect to over HTTP. Default: that of the Service.'),
      httpsPort: port('Port that clients connect to over HTTPS. Default: that of the Service.'),
      trustedProxies: list(
        'Networks of proxies that may report the address of a client. Default: none.',
        { type: 'string', minLength: 1, maxLength: 43 },
        { maxItems: 500, 'x-kubernetes-list-type': 'atomic' },
      ),
      proxyProtocol: flag(
        'All connections must begin with a header of the PROXY protocol, version 1 or 2. Its address counts if the proxy is trusted.',
      ),
      header: text(
        'Header in which trusted proxies report the address of a client, for example X-Forwarded-For or Forwarded. Default: no header counts.',
        { pattern: '^[A-Za-z0-9-]{1,64}$' },
      ),
      wholeUrl: flag(
        'Trusted proxies also report the scheme, the host and the port that the client has used.',
      ),
      fullForwardedFor: flag('Backends get all addresses of X-Forwarded-For, not only that of the client.'),
    }),
    ingressDefaults: textMap(
      'Values of annotations of ingress-nginx, by name without prefix, for Ingresses that do not have the annotation.',
      { maxProperties: 100 },
    ),
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
    problems: list(
      'The first problems of Ingresses that only the router can find: in Secrets with users, and what it has no room for.',
      object(
        'A problem of an Ingress.',
        {
          ingress: text('Namespace and name of the Ingress.', { maxLength: 317 }),
          reason: text('Machine-readable reason in CamelCase.', { maxLength: 63 }),
          message: text('Human-readable explanation.', { maxLength: MOST_PROBLEM_TEXT }),
        },
        { required: ['ingress', 'reason', 'message'] },
      ),
      { maxItems: MOST_ROUTER_PROBLEMS, 'x-kubernetes-list-type': 'atomic' },
    ),
    policies: text('Digest of the RoutePolicies and ClusterRoutePolicies that this router has applied.', {
      maxLength: 64,
    }),
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
  draining: list(
    'Since when other routers serve what leaves this router. It is served here until the drain time is over.',
    object(
      'Hosts and Ingresses that other routers have served since a time.',
      {
        since: text('Time since which other routers serve them.', { format: 'date-time' }),
        hosts: list(
          'Hosts in spec.leaving.',
          { type: 'string', maxLength: 253 },
          { 'x-kubernetes-list-type': 'atomic' },
        ),
        ingresses: list(
          'Ingresses in spec.departing.',
          { type: 'string', maxLength: 317 },
          { 'x-kubernetes-list-type': 'atomic' },
        ),
        all: flag('Whether it is the whole router, because no class needs it any more.'),
      },
      { required: ['since'] },
    ),
    { 'x-kubernetes-list-type': 'atomic' },
  ),
  problems: list(
    'The first problems of Ingresses that the router serves.',
    object('A problem of an Ingress.', {
      ingress: text('Namespace and name of the Ingress.'),
      reason: text('Machine-readable reason in CamelCase.'),
      message: text('Human-readable explanation.'),
    }),
  ),
  problemCount: count('Total number of problems.'),
  secretVersions: textMap(
    'Versions of the Secrets that the router may read, by group. Routers read the Secrets of a group again when its version changes.',
    { maxProperties: MOST_SECRET_GROUPS, 'x-kubernetes-map-type': 'atomic' },
  ),
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
