/** Describes every label and annotation that Tidegate reads or writes. The reference page in docs/ is generated from it. */
import {
  AGGREGATE_TO_APPS_LABEL,
  BACKEND_PROTOCOL_ANNOTATION,
  BALANCE_ANNOTATION,
  CLASS_PARAMETERS_ANNOTATION,
  CONNECT_TIMEOUT_ANNOTATION,
  CONVERTED_FIELDS_ANNOTATION,
  CONVERTED_YURT_APP_ANNOTATION,
  DEFAULT_CLASS_ANNOTATION,
  DESIRED_NODE_POOL_LABEL,
  DISCARD_SERVICE_ANNOTATION,
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  EDITION_LABEL,
  EDITIONS_ANNOTATION,
  HOST_NETWORK_LABEL,
  HUB_VERSION_ANNOTATION,
  INGRESS_CLASS_ANNOTATION,
  MADE_FROM_ANNOTATION,
  MAX_BODY_SIZE_ANNOTATION,
  NODE_ADDRESSES_ANNOTATION,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  NODE_PORT_LISTEN_ANNOTATION,
  OPENYURT_WRITTEN_ANNOTATION,
  POOL_NAME_LABEL,
  READ_TIMEOUT_ANNOTATION,
  RECREATE_ANNOTATION,
  REF_NODE_POOL_ANNOTATION,
  REF_YURT_APP_SET_LABEL,
  ROUTER_LABEL,
  ROUTER_STATE_ANNOTATION,
  SERVICE_TARGETS_ANNOTATION,
  SERVICE_TOPOLOGY_ANNOTATION,
  SHARED_ADDRESS_LABEL,
  SHARED_PODS_LABEL,
  SSL_REDIRECT_ANNOTATION,
  TOPOLOGY_KEYS_ANNOTATION,
  WRITTEN_ANNOTATION,
  YURT_INGRESS_LABEL,
  ZONE_LABEL,
} from './names.ts';

/** The project that defined a name. Names of other projects keep their meaning, so that manifests work unchanged. */
export type NameDialect = 'tidegate' | 'openyurt' | 'kubeedge' | 'kubernetes' | 'kuryr';

export interface NameReference {
  readonly name: string;
  readonly type: 'label' | 'annotation';
  /** Kinds of the objects that have it. */
  readonly kinds: readonly string[];
  /** Valid values, with the default if there is one. */
  readonly values: string;
  readonly meaning: string;
  readonly setBy: 'user' | 'tidegate' | 'user or tidegate';
  readonly dialect: NameDialect;
}

/** Objects that are created from the manifests of an application. */
const APPLICATION_OBJECTS = ['objects of EdgeApplications'];
const ROUTER_OBJECTS = ['objects of L7Routers'];

const LABELS: readonly Omit<NameReference, 'type'>[] = [
  {
    name: NODE_POOL_LABEL,
    kinds: ['Node'],
    values: 'name of a NodePool',
    meaning: 'The NodePool of the node. Set it to add a node to a pool; remove it to take the node out.',
    setBy: 'user or tidegate',
    dialect: 'openyurt',
  },
  {
    name: DESIRED_NODE_POOL_LABEL,
    kinds: ['Node'],
    values: 'name of a NodePool',
    meaning:
      'The NodePool that the node should join. It takes precedence over selectors and the current pool.',
    setBy: 'user',
    dialect: 'openyurt',
  },
  {
    name: HOST_NETWORK_LABEL,
    kinds: ['Node'],
    values: '`true`',
    meaning: 'The NodePool of the node has `spec.hostNetwork`.',
    setBy: 'tidegate',
    dialect: 'openyurt',
  },
  {
    name: NODE_GROUP_LABEL,
    kinds: ['Node'],
    values: 'name of a NodeGroup',
    meaning: 'The NodeGroup of the node.',
    setBy: 'tidegate',
    dialect: 'kubeedge',
  },
  {
    name: ZONE_LABEL,
    kinds: ['Node'],
    values: 'name of a zone',
    meaning: 'Set to the name of the NodeGroup if it has `spec.topologyEnabled` and the node has no zone.',
    setBy: 'user or tidegate',
    dialect: 'kubernetes',
  },
  {
    name: EDGE_APPLICATION_LABEL,
    kinds: ['Service', 'Pod', ...APPLICATION_OBJECTS],
    values: 'name of an EdgeApplication',
    meaning:
      'The application of the object. Clients of a Service with this label see only endpoints in their pool.',
    setBy: 'user or tidegate',
    dialect: 'kubeedge',
  },
  {
    name: EDGE_APPLICATION_NAMESPACE_LABEL,
    kinds: APPLICATION_OBJECTS,
    values: 'name of a Namespace',
    meaning: 'The namespace of the EdgeApplication of the object.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: EDITION_LABEL,
    kinds: ['Pod', 'workloads of EdgeApplications'],
    values: 'name of a pool, or of a set of nodes',
    meaning: 'The target of the EdgeApplication that the workload was rendered for. Also in its selector.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: POOL_NAME_LABEL,
    kinds: ['Pod', 'workloads of YurtAppSets and YurtAppDaemons'],
    values: 'name of a pool',
    meaning: 'The pool of the workload. Also in its selector.',
    setBy: 'tidegate',
    dialect: 'openyurt',
  },
  {
    name: REF_YURT_APP_SET_LABEL,
    kinds: ['workloads and ControllerRevisions of YurtAppSets'],
    values: 'name of a YurtAppSet',
    meaning: 'The YurtAppSet of the object.',
    setBy: 'tidegate',
    dialect: 'openyurt',
  },
  {
    name: AGGREGATE_TO_APPS_LABEL,
    kinds: ['ClusterRole'],
    values: '`true`',
    meaning:
      'Adds the permissions of the role to those that the manager has for objects of applications, in namespaces that have bound the ClusterRole `tidegate-apps`.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: ROUTER_LABEL,
    kinds: ['Pod', ...ROUTER_OBJECTS],
    values: 'name of an L7Router, or `pods_` and the name of shared pods',
    meaning: 'The L7Router of the object, or the pods that several L7Routers share.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: SHARED_ADDRESS_LABEL,
    kinds: ['L7Router'],
    values: 'name of a shared address',
    meaning: 'The address that several IngressClasses share, from the parameters of the classes.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: SHARED_PODS_LABEL,
    kinds: ['L7Router'],
    values: 'name of shared pods',
    meaning: 'The pods that several L7Routers share, from the parameters of the classes.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: YURT_INGRESS_LABEL,
    kinds: ['IngressClass', 'L7Router'],
    values: 'name of a YurtIngress',
    meaning: 'The YurtIngress of the front door.',
    setBy: 'tidegate',
    dialect: 'openyurt',
  },
];

const ANNOTATIONS: readonly Omit<NameReference, 'type'>[] = [
  {
    name: BACKEND_PROTOCOL_ANNOTATION,
    kinds: ['Ingress'],
    values: '`http` (default), `https`, `grpc`',
    meaning: 'Protocol of the connections to endpoints.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: BALANCE_ANNOTATION,
    kinds: ['Ingress'],
    values: '`roundRobin` (default), `leastConnections`, `ewma`',
    meaning: 'How requests are distributed over endpoints.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: CLASS_PARAMETERS_ANNOTATION,
    kinds: ['IngressClass'],
    values: 'JSON, for example `{"maxHosts":"100"}`',
    meaning:
      'Parameters of the class. The embedded API server writes it for manifests of `network.k8s.io/v1`, which have them in the class.',
    setBy: 'tidegate',
    dialect: 'kubernetes',
  },
  {
    name: CONNECT_TIMEOUT_ANNOTATION,
    kinds: ['Ingress'],
    values: 'duration up to 75s, for example `500ms` or `5s`; a plain number is in seconds (default: `5s`)',
    meaning: 'Timeout for a connection to an endpoint.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: READ_TIMEOUT_ANNOTATION,
    kinds: ['Ingress'],
    values: 'duration up to 24h, for example `30s` or `5m`; a plain number is in seconds (default: `60s`)',
    meaning: 'Timeout between two reads from an endpoint.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: MAX_BODY_SIZE_ANNOTATION,
    kinds: ['Ingress'],
    values: 'bytes, for example `4096`, `512k` or `8m`; `0` is unlimited (default: `1m`)',
    meaning: 'Maximum size of a request body. Larger requests get the status 413.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: SSL_REDIRECT_ANNOTATION,
    kinds: ['Ingress'],
    values: '`true`, `false` (default)',
    meaning: 'Redirect HTTP requests to HTTPS with the status 308.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: INGRESS_CLASS_ANNOTATION,
    kinds: ['Ingress'],
    values: 'name of an IngressClass',
    meaning: 'The class of the Ingress. Used only if `spec.ingressClassName` is not set.',
    setBy: 'user',
    dialect: 'kubernetes',
  },
  {
    name: DEFAULT_CLASS_ANNOTATION,
    kinds: ['IngressClass'],
    values: '`true`',
    meaning:
      'The default class for Ingresses without a class. If several classes have it, the newest is used.',
    setBy: 'user',
    dialect: 'kubernetes',
  },
  {
    name: EDITIONS_ANNOTATION,
    kinds: ['manifests of EdgeApplications'],
    values: '`each`, `once`',
    meaning:
      'Whether the object is created for each target, with references from the other objects of the edition, or once for all targets. Workloads, their autoscalers and their disruption budgets are created for each target, other objects once.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: RECREATE_ANNOTATION,
    kinds: ['manifests of EdgeApplications'],
    values: '`true`, `false` (default: `true` for Jobs and Pods)',
    meaning:
      'Delete and create the object if a change is not possible in place, for example of the template of a Job.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: SERVICE_TARGETS_ANNOTATION,
    kinds: ['Service'],
    values: 'JSON with `nodePools`, `nodeGroups` and `nodes`',
    meaning:
      'The targets of the EdgeApplication of the Service. Clients see only endpoints on nodes of the targets that contain their node.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: REF_NODE_POOL_ANNOTATION,
    kinds: ['workloads of YurtAppSets and YurtAppDaemons'],
    values: 'name of a pool',
    meaning: 'The pool of the workload.',
    setBy: 'tidegate',
    dialect: 'openyurt',
  },
  {
    name: CONVERTED_YURT_APP_ANNOTATION,
    kinds: ['YurtAppSet'],
    values: 'JSON',
    meaning:
      'Fields of v1alpha1 that v1beta1 does not have. `tidegate convert` writes it, and reads it when it converts back.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: SERVICE_TOPOLOGY_ANNOTATION,
    kinds: ['Service'],
    values: '`range-nodegroup`',
    meaning: 'Clients of the Service see only endpoints in their pool.',
    setBy: 'user',
    dialect: 'kubeedge',
  },
  {
    name: TOPOLOGY_KEYS_ANNOTATION,
    kinds: ['Service'],
    values: '`kubernetes.io/hostname`, `openyurt.io/nodepool`, `kubernetes.io/zone` (same as the pool)',
    meaning:
      'Clients of the Service see only endpoints on their node or in their pool. In a list, the widest is used.',
    setBy: 'user',
    dialect: 'openyurt',
  },
  {
    name: DISCARD_SERVICE_ANNOTATION,
    kinds: ['Service'],
    values: '`true`',
    meaning: 'Hides a Service of type LoadBalancer from kube-proxy at the edge.',
    setBy: 'user',
    dialect: 'openyurt',
  },
  {
    name: NODE_PORT_LISTEN_ANNOTATION,
    kinds: ['Service'],
    values: 'comma-separated pools, for example `shop-1,shop-2`, or `*,-depot` for all except one',
    meaning: 'The pools in which nodes listen on the node ports of the Service.',
    setBy: 'user',
    dialect: 'openyurt',
  },
  {
    name: NODE_ADDRESSES_ANNOTATION,
    kinds: ['NodePool', 'NodeGroup'],
    values: 'comma-separated IP addresses and ranges, for example 192.0.2.0/24',
    meaning: 'The addresses that serving certificates of the nodes in the pool may contain.',
    setBy: 'user',
    dialect: 'tidegate',
  },
  {
    name: HUB_VERSION_ANNOTATION,
    kinds: ['Node'],
    values: 'a version, for example 0.2.0',
    meaning: 'The version of the hub on the node. `tidegate check` and `tidegate upgrade` read it.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: WRITTEN_ANNOTATION,
    kinds: ['Node'],
    values: 'JSON',
    meaning: 'Labels, annotations and taints that pools set on the node, so that they can be removed later.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: OPENYURT_WRITTEN_ANNOTATION,
    kinds: ['Node'],
    values: 'JSON',
    meaning: 'What OpenYurt set on the node. Tidegate takes it over and removes the annotation.',
    setBy: 'user',
    dialect: 'openyurt',
  },
  {
    name: CONVERTED_FIELDS_ANNOTATION,
    kinds: ['NodePool'],
    values: 'JSON',
    meaning: 'Fields that do not exist in the version that the NodePool was converted to.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: MADE_FROM_ANNOTATION,
    kinds: ROUTER_OBJECTS,
    values: 'hash',
    meaning: 'The source of the object, so that it is updated when the source changes.',
    setBy: 'tidegate',
    dialect: 'tidegate',
  },
  {
    name: ROUTER_STATE_ANNOTATION,
    kinds: ['Node'],
    values: 'JSON',
    meaning: 'Addresses of routers in the format of Kuryr, if a parameter of the IngressClass enables it.',
    setBy: 'tidegate',
    dialect: 'kuryr',
  },
];

export const NAME_REFERENCE: readonly NameReference[] = [
  ...LABELS.map((each) => ({ ...each, type: 'label' as const })),
  ...ANNOTATIONS.map((each) => ({ ...each, type: 'annotation' as const })),
];
