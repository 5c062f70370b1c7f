/**
 * Every label, annotation, finalizer, field manager and user agent that Tidegate reads or writes. name-reference.ts
 * describes the labels and annotations for users.
 */

/** Before the name of every metric of the programs, also before those of work queues and controllers. */
export const METRICS_PREFIX = 'tidegate_';

/** On a node: the NodePool of the node. Set by users, or by Tidegate for `desired-nodepool` and selectors. */
export const NODE_POOL_LABEL = 'apps.openyurt.io/nodepool';
/** On a node: the NodePool that the node should join. Set by users only. */
export const DESIRED_NODE_POOL_LABEL = 'apps.openyurt.io/desired-nodepool';
/** On a node: the NodePool of the node has `hostNetwork`. */
export const HOST_NETWORK_LABEL = 'nodepool.openyurt.io/hostnetwork';
/** On a node: the NodeGroup of the node. Set by Tidegate only. */
export const NODE_GROUP_LABEL = 'apps.kubeedge.io/belonging-to';
/** On a node: the zone. Set for NodeGroups with `topologyEnabled`, so that topology-aware routing follows the group. */
export const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** On a node: the labels, annotations and taints that pools set, so that exactly these can be removed later. */
export const WRITTEN_ANNOTATION = 'pools.tidegate.io/written';
/** On a node: what the controller of OpenYurt set. Read and removed when a cluster migrates from OpenYurt. */
export const OPENYURT_WRITTEN_ANNOTATION = 'nodepool.openyurt.io/previous-attributes';
/** On a node: the version of its hub, which the hub writes when it reaches an API server. */
export const HUB_VERSION_ANNOTATION = 'hub.tidegate.io/version';
/** On a NodePool or NodeGroup: the addresses that serving certificates of its nodes may contain. */
export const NODE_ADDRESSES_ANNOTATION = 'pools.tidegate.io/node-addresses';
/** On a node: how long its pods are kept while its site is unreachable. Zero or less: without a limit. Set by users, as in OpenYurt. */
export const AUTONOMY_DURATION_ANNOTATION = 'node.openyurt.io/autonomy-duration';
/** On a node: `true` keeps its pods while its site is unreachable, `false` does not. OpenYurt has deprecated it. */
export const AUTONOMY_ANNOTATION = 'node.beta.openyurt.io/autonomy';
/** On a node: `true` keeps its pods while its site is unreachable. OpenYurt has deprecated it. */
export const BINDING_ANNOTATION = 'apps.openyurt.io/binding';
/** On a NodePool: fields that do not exist in the version that it was converted to. */
export const CONVERTED_FIELDS_ANNOTATION = 'nodepool.tidegate.io/other-version-fields';

/** On objects of an EdgeApplication and their pods: the application. On a Service: limits clients to their pool. */
export const EDGE_APPLICATION_LABEL = 'groupmanagement.kubeedge.io/edgeapplication-name';
/** On objects of an EdgeApplication: the namespace of the application. */
export const EDGE_APPLICATION_NAMESPACE_LABEL = 'apps.tidegate.io/edgeapplication-namespace';
/** On workloads of an EdgeApplication, their selectors and their pods: the pool of the edition. */
export const EDITION_LABEL = 'apps.tidegate.io/edition';
/** On a manifest of an EdgeApplication: whether a change that is not possible in place deletes and creates the object. */
export const RECREATE_ANNOTATION = 'apps.tidegate.io/recreate';
/** On a manifest of an EdgeApplication: `each` creates the object once for each target, `once` for all of them. */
export const EDITIONS_ANNOTATION = 'apps.tidegate.io/editions';
/**
 * On a Service of an EdgeApplication: the sets of nodes that the application is deployed to, as JSON. They decide the scope of
 * the Service.
 */
export const SERVICE_TARGETS_ANNOTATION = 'apps.tidegate.io/service-targets';
/** On a workload of a YurtAppSet or YurtAppDaemon, its selector and its pods: the pool. */
export const POOL_NAME_LABEL = 'apps.openyurt.io/pool-name';
/** On a workload of a YurtAppSet, and on its revisions: the YurtAppSet. */
export const REF_YURT_APP_SET_LABEL = 'apps.openyurt.io/ref-yurtappset';
/** On a workload of a YurtAppSet or YurtAppDaemon: the pool. */
export const REF_NODE_POOL_ANNOTATION = 'apps.openyurt.io/ref-nodepool';
/** On a YurtAppSet of v1beta1 that was converted from v1alpha1: the fields of v1alpha1. */
export const CONVERTED_YURT_APP_ANNOTATION = 'apps.tidegate.io/v1alpha1-fields';
/** On a Service: `range-nodegroup` limits clients to endpoints in their pool. */
export const SERVICE_TOPOLOGY_ANNOTATION = 'apps.kubeedge.io/service-topology';
/** The only supported value of `SERVICE_TOPOLOGY_ANNOTATION`. */
export const SERVICE_TOPOLOGY_NODE_GROUP = 'range-nodegroup';
/** On a Service: the topology keys that limit clients to endpoints on their node or in their pool. */
export const TOPOLOGY_KEYS_ANNOTATION = 'openyurt.io/topologyKeys';
/** Values of `TOPOLOGY_KEYS_ANNOTATION`. OpenYurt treats the zone as the pool. */
export const TOPOLOGY_KEY_NODE = 'kubernetes.io/hostname';
export const TOPOLOGY_KEY_POOL = 'openyurt.io/nodepool';
export const TOPOLOGY_KEY_ZONE = 'kubernetes.io/zone';
/** On a Service of type LoadBalancer: `true` hides the Service from kube-proxy at the edge. */
export const DISCARD_SERVICE_ANNOTATION = 'svc.openyurt.io/discard';
/** On a Service with node ports: the pools in which nodes listen on them, for example `shop-1,shop-2` or `*,-depot`. */
export const NODE_PORT_LISTEN_ANNOTATION = 'nodeport.openyurt.io/listen';

/** On an Ingress: the class, from before the field `spec.ingressClassName` existed. */
export const INGRESS_CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
/** On an Ingress: `true` marks a copy that `tidegate migrate` made for the other controller. */
export const MIGRATION_COPY_LABEL = 'migrate.tidegate.io/copy';
/** On a copy of `tidegate migrate`: the name of the Ingress that it is a copy of. The policies of that Ingress apply to it too. */
export const MIGRATION_COPY_OF_ANNOTATION = 'migrate.tidegate.io/copy-of';
/** Prefix of all Tidegate annotations on Ingresses. Unknown annotations with this prefix are rejected. */
export const INGRESS_ANNOTATION_PREFIX = 'tidegate.io/';
/** On an IngressClass: comma-separated names of headers that Ingresses of the class can add to responses. */
export const ALLOWED_RESPONSE_HEADERS_ANNOTATION = 'tidegate.io/allowed-response-headers';
/** On an Ingress: the protocol of the backends. */
export const BACKEND_PROTOCOL_ANNOTATION = 'tidegate.io/backend-protocol';
/** On an Ingress: how requests are distributed over endpoints. */
export const BALANCE_ANNOTATION = 'tidegate.io/balance';
/** On an Ingress: the timeout for a connection to an endpoint. */
export const CONNECT_TIMEOUT_ANNOTATION = 'tidegate.io/proxy-connect-timeout';
/** On an Ingress: the timeout between two reads from an endpoint. */
export const READ_TIMEOUT_ANNOTATION = 'tidegate.io/proxy-read-timeout';
/** On an Ingress: the maximum size of a request body. */
export const MAX_BODY_SIZE_ANNOTATION = 'tidegate.io/max-body-size';
/** On an Ingress: redirect HTTP requests to HTTPS. */
export const SSL_REDIRECT_ANNOTATION = 'tidegate.io/ssl-redirect';
/** Prefix of `spec.controller` of every IngressClass that Tidegate serves. */
export const INGRESS_CONTROLLER_PREFIX = 'tidegate.io/';
/** On an IngressClass: `true` makes it the default for Ingresses without a class. */
export const DEFAULT_CLASS_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';
/** On objects of an L7Router and their pods: the name of the L7Router. */
export const ROUTER_LABEL = 'networking.tidegate.io/router';
/** On an L7Router: the name of the address that several classes share. */
export const SHARED_ADDRESS_LABEL = 'networking.tidegate.io/shared-address';
/** On an L7Router: the name of the pods that several routers share. */
export const SHARED_PODS_LABEL = 'networking.tidegate.io/shared-pods';
/** On objects of an L7Router: a hash of their source, so that they are updated when it changes. */
export const MADE_FROM_ANNOTATION = 'networking.tidegate.io/made-from';
/** On a node: the addresses of routers in the format of Kuryr, if a parameter of the class enables it. */
export const ROUTER_STATE_ANNOTATION = 'openstack.org/kuryr-l7-router-state';
/** On the IngressClass and the L7Router of a front door: the name of the YurtIngress. */
export const YURT_INGRESS_LABEL = 'apps.openyurt.io/yurtingress';
/**
 * Prefix of `spec.controller` of classes that an ingress-nginx in a pool serves. Each class has its own value, because
 * ingress-nginx serves all classes with its value.
 */
export const INGRESS_NGINX_CONTROLLER_PREFIX = 'ingress-nginx.tidegate.io/';

/** On a NodePool: removed when no node is left in the pool. */
export const NODE_POOL_FINALIZER = 'apps.openyurt.io/nodepool-controller';
/** On a NodeGroup: removed when all nodes are released. */
export const NODE_GROUP_FINALIZER = 'apps.kubeedge.io/nodegroup-controller';

/** On an EdgeApplication: removed when its objects are deleted. */
export const EDGE_APPLICATION_FINALIZER = 'apps.kubeedge.io/edgeapplication-controller';

/** On an L7Router: removed when the data plane is deleted. */
export const ROUTER_FINALIZER = 'networking.tidegate.io/l7router-controller';

/** On a YurtIngress: removed when its front doors are deleted. */
export const YURT_INGRESS_FINALIZER = 'apps.openyurt.io/yurtingress-controller';
/** On a YurtIngress: set by the controller of OpenYurt. Removed with ours, because that controller is gone after a migration. */
export const OPENYURT_YURT_INGRESS_FINALIZER = 'ingress.operator.openyurt.io';

/** On an IngressClass: its parameters as JSON. The embedded API server writes it for manifests of network.k8s.io/v1. */
export const CLASS_PARAMETERS_ANNOTATION = 'network.k8s.io/parameters';

/** The pool controllers, for nodes and the status of pools. */
export const POOLS_FIELD_MANAGER = 'tidegate-pools';
/** The controller of EdgeApplications. */
export const APPS_FIELD_MANAGER = 'tidegate-apps';
/** The controllers of YurtAppSets and YurtAppDaemons. */
export const YURT_APPS_FIELD_MANAGER = 'tidegate-yurtapps';
/** The controllers of Ingresses and L7Routers. */
export const INGRESS_FIELD_MANAGER = 'tidegate-ingress';
/** Placement, for drain times in the status of L7Routers. */
export const PLACEMENT_FIELD_MANAGER = 'tidegate-placement';
/** The versions of Secrets in the status of L7Routers. */
export const SECRET_VERSIONS_FIELD_MANAGER = 'tidegate-secret-versions';
/** The controllers of YurtIngresses. */
export const YURT_INGRESS_FIELD_MANAGER = 'tidegate-yurtingress';

// User agents: the part before the slash identifies a program.

/** The kubelet. */
export const KUBELET_USER_AGENT = 'kubelet';
/** kube-proxy, and the NodePort proxy of the embedded node. */
export const KUBE_PROXY_USER_AGENT = 'kube-proxy';
/** The router of Tidegate. */
export const ROUTER_USER_AGENT = 'tidegate-router';
/** Ingress controllers. Clients with one of these user agents see only the endpoints of their pool. */
export const INGRESS_CONTROLLER_USER_AGENTS: readonly string[] = [
  ROUTER_USER_AGENT,
  'nginx-ingress-controller',
];
/** Clients that forward traffic to endpoints of Services, or resolve them. EdgeMesh belongs to KubeEdge. */
export const SERVICE_CLIENT_USER_AGENTS: readonly string[] = [
  KUBE_PROXY_USER_AGENT,
  'coredns',
  'edgemesh-agent',
  'edgemesh-gateway',
  ...INGRESS_CONTROLLER_USER_AGENTS,
];

/** Environment variable of the manager: the namespace that it is installed in. */
const NAMESPACE_VARIABLE = 'TIDEGATE_NAMESPACE';
/** Namespace of Tidegate's own objects. Only cluster administrators should have write access. */
export const SYSTEM_NAMESPACE = process.env[NAMESPACE_VARIABLE] || 'tidegate-system';
/**
 * Namespace of routers. It is not that of Tidegate itself: an account that may create pods in a namespace can use every
 * ServiceAccount in it.
 */
export const ROUTER_NAMESPACE = 'tidegate-routers';
/** Namespace of the routers of front doors, as in OpenYurt. */
export const FRONT_DOOR_NAMESPACE = 'ingress-nginx';
/**
 * Namespace of routers that run ingress-nginx. Their account reads all Secrets, so no other router is in it: the account of
 * the manager has permission to create pods there only if the administrator has enabled ingress-nginx.
 */
export const INGRESS_NGINX_NAMESPACE = 'tidegate-ingress-nginx';
/** ConfigMap with the settings of all hubs, as in OpenYurt, so that existing settings keep working. */
export const HUB_CONFIG_MAP = { namespace: 'kube-system', name: 'yurt-hub-cfg' } as const;
