/**
 * The values of an installation: what a user can set. `tidegate install --set`, the values file and the schema of the Helm
 * chart, and the reference page all come from this list.
 */
import { NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';

export interface ValueDefinition {
  /** Field names, separated by dots. */
  readonly path: string;
  readonly type: 'string' | 'boolean' | 'integer' | 'array' | 'object';
  readonly default: unknown;
  readonly description: string;
  readonly pattern?: string;
  readonly choices?: readonly string[];
  readonly minimum?: number;
}

/** Measured in containers (docs/guides/install.md#resources). A limit leaves room for the caches of a large cluster. */
const part = (name: string, replicas: number, memory: string): ValueDefinition[] => [
  {
    path: `replicas.${name}`,
    type: 'integer',
    minimum: 1,
    default: replicas,
    description: `Replicas of the part ${name}.`,
  },
  {
    path: `resources.${name}`,
    type: 'object',
    default: { requests: { cpu: '50m', memory }, limits: { memory: '512Mi' } },
    description: `Resources of the pods of the part ${name}.`,
  },
];

/** The node is not in a pool, and will not be. */
const NOT_IN_POOL = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        {
          matchExpressions: [
            { key: NODE_POOL_LABEL, operator: 'DoesNotExist' },
            { key: NODE_GROUP_LABEL, operator: 'DoesNotExist' },
          ],
        },
      ],
    },
  },
};

const leavesAfter = (seconds: number): object[] =>
  ['not-ready', 'unreachable'].map((condition) => ({
    key: `node.kubernetes.io/${condition}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: seconds,
  }));

/** Routers on OpenStack Octavia. Only the part `routers` gets them. */
const octavia = (): ValueDefinition[] => [
  {
    path: 'octavia.cluster',
    type: 'string',
    pattern: '^([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?)?$',
    default: '',
    description:
      'Name of this cluster, which must be unique in the OpenStack project. Empty: no router is on Octavia.',
  },
  {
    path: 'octavia.secret',
    type: 'string',
    pattern: '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$',
    default: 'tidegate-openstack',
    description:
      'Secret with clouds.yaml, in the namespace of the manager. Its keys are files in /etc/openstack, for example also ca.crt and kuryr.conf. Restart the part routers after a change.',
  },
  {
    path: 'octavia.cloud',
    type: 'string',
    pattern: '^.+$',
    default: 'openstack',
    description: 'Name of the cloud in clouds.yaml (OS_CLOUD).',
  },
  {
    path: 'octavia.kuryrConf',
    type: 'string',
    pattern: '^(/.+)?$',
    default: '',
    description:
      'Path of a kuryr.conf with defaults for subnets, for example /etc/openstack/kuryr.conf. Empty: none.',
  },
  {
    path: 'octavia.certificates',
    type: 'string',
    pattern: '^(/.+)?$',
    default: '',
    description:
      "Directory of Octavia's local certificate manager in the pod, for example /var/lib/octavia. Empty: classes need Barbican for HTTPS.",
  },
  {
    path: 'octavia.certificatesVolume',
    type: 'object',
    default: { name: 'octavia', emptyDir: {} },
    description:
      'Volume with that directory, mounted at /var/lib/octavia. Its name must be octavia, for example {name: octavia, nfs: {server: 192.0.2.9, path: /certs}}.',
  },
];

/** `version` is the version of the program, which selects the image. */
export const valueDefinitions = (version: string): readonly ValueDefinition[] => [
  {
    path: 'image',
    type: 'string',
    pattern: '^[A-Za-z0-9][A-Za-z0-9._/:@-]*$',
    default: `tidegate:${version}`,
    description: 'Image of the manager and of routers.',
  },
  {
    path: 'imagePullSecrets',
    type: 'array',
    default: [],
    description:
      'Secrets to pull the image of the manager with, in its namespace, for example [{name: registry}].',
  },
  {
    path: 'createNamespace',
    type: 'boolean',
    default: false,
    description:
      'Whether the namespace of Tidegate is one of the objects. `tidegate install` and the kustomize base set it; with Helm, use --create-namespace instead.',
  },
  ...part('admission', 2, '96Mi'),
  ...part('pools', 1, '96Mi'),
  ...part('routers', 1, '96Mi'),
  ...part('apps', 1, '96Mi'),
  {
    path: 'affinity',
    type: 'object',
    default: NOT_IN_POOL,
    description:
      'Affinity of the manager. By default it does not run on nodes of pools; null allows all nodes, for clusters whose nodes are all in pools.',
  },
  { path: 'nodeSelector', type: 'object', default: {}, description: 'Node selector of the manager.' },
  {
    path: 'tolerations',
    type: 'array',
    default: leavesAfter(30),
    description: 'Tolerations of the manager.',
  },
  {
    path: 'priorityClassName',
    type: 'string',
    default: 'system-cluster-critical',
    description: 'Priority class of the manager.',
  },
  {
    path: 'logLevel',
    type: 'string',
    choices: ['debug', 'info', 'warn', 'error'],
    default: 'info',
    description: 'Minimum level of log messages of the manager.',
  },
  {
    path: 'nodeAddresses',
    type: 'string',
    default: '',
    description:
      'Comma-separated addresses and ranges that serving certificates of all nodes may contain (`tidegate manager --node-addresses`).',
  },
  {
    path: 'hub.enabled',
    type: 'boolean',
    default: true,
    description: 'Whether nodes get the permissions that hubs need.',
  },
  {
    path: 'hub.address',
    type: 'string',
    default: '169.254.2.1',
    description: 'Address that hubs listen on besides those of their node.',
  },
  {
    path: 'routers.allowedImages',
    type: 'string',
    default: '',
    description:
      'Comma-separated images that classes and YurtIngresses may select besides the own image; a pattern can end with *.',
  },
  {
    path: 'routers.allowedAddresses',
    type: 'string',
    default: '',
    description:
      'Comma-separated ranges of external addresses that classes and YurtIngresses may give to routers.',
  },
  {
    path: 'allNamespaces',
    type: 'boolean',
    default: false,
    description:
      'Whether Tidegate gets in all namespaces the permissions that each namespace otherwise grants itself. Use it only if one team owns the whole cluster.',
  },
  {
    path: 'ingressNginx.image',
    type: 'string',
    default: '',
    description:
      'Image of routers that run ingress-nginx. Empty: no router does, and no account exists that may read all Secrets.',
  },
  ...octavia(),
  {
    path: 'networkPolicy.enabled',
    type: 'boolean',
    default: true,
    description: 'Whether NetworkPolicies limit which clients can connect to the manager.',
  },
  {
    path: 'networkPolicy.webhookClients',
    type: 'array',
    default: [],
    description:
      'Peers that may connect to the webhook: the API servers, for example [{ipBlock: {cidr: 192.0.2.0/24}}]. Empty: all.',
  },
  {
    path: 'networkPolicy.metricsClients',
    type: 'array',
    default: [{ namespaceSelector: { matchLabels: { 'tidegate.io/monitoring': 'true' } } }],
    description: 'Peers that may read the metrics of the manager.',
  },
  {
    path: 'networkPolicy.routersEgress',
    type: 'array',
    default: [],
    description:
      'Egress rules of the part routers, as in a NetworkPolicy: to the API servers, DNS, and for Octavia the endpoints of the cloud, for example [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]. Empty: not limited.',
  },
  {
    path: 'monitoring.enabled',
    type: 'boolean',
    default: false,
    description:
      'Whether to create a ServiceMonitor, a PodMonitor and alert rules for the Prometheus Operator, and a Grafana dashboard.',
  },
  {
    path: 'monitoring.labels',
    type: 'object',
    default: {},
    description: 'Labels of the monitors and rules, by which Prometheus selects them.',
  },
  {
    path: 'monitoring.runbookUrl',
    type: 'string',
    pattern: '^(https?://[^\\s#]+|docs/guides/alerts[.]md)$',
    default: 'docs/guides/alerts.md',
    description:
      'Address of the page docs/guides/alerts.md, for the links in alerts. The default is its path in the repository and in the package. Set it to the URL where your team reads the page, for example in your wiki.',
  },
];
