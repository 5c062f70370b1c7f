/** Every label, annotation, finalizer, field manager and user agent that Tidegate reads or writes. */

/** On a node: the NodePool it is in. Written by people, or by us for `desired-nodepool` and selectors. */
export const NODE_POOL_LABEL = 'apps.openyurt.io/nodepool';
/** On a node: the NodePool it shall be in. Written by people only. */
export const DESIRED_NODE_POOL_LABEL = 'apps.openyurt.io/desired-nodepool';
/** On a node of a NodePool with `hostNetwork`. */
export const HOST_NETWORK_LABEL = 'nodepool.openyurt.io/hostnetwork';
/** On a node: the NodeGroup it is in. Written by us only. */
export const NODE_GROUP_LABEL = 'apps.kubeedge.io/belonging-to';
/** On a node of a NodeGroup with `topologyEnabled`: native topology routing then follows the group. */
export const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** On a node: all that the pools have put there, so that exactly that can be taken back. */
export const WRITTEN_ANNOTATION = 'pools.tidegate.io/written';
/** On a node: what OpenYurt's controller had put there. Read once, when a cluster moves over from it. */
export const OPENYURT_WRITTEN_ANNOTATION = 'nodepool.openyurt.io/previous-attributes';
/** On a NodePool: the fields that the version it was converted to has no place for. */
export const CONVERTED_FIELDS_ANNOTATION = 'nodepool.tidegate.io/other-version-fields';

/** On all that the EdgeApplication of this name made, its pods too. On a Service: only endpoints in the client's pool. */
export const EDGE_APPLICATION_LABEL = 'groupmanagement.kubeedge.io/edgeapplication-name';
/** On everything that an EdgeApplication made: where the application is. With the label above it says whose it is. */
export const EDGE_APPLICATION_NAMESPACE_LABEL = 'apps.tidegate.io/edgeapplication-namespace';
/** On a workload that an EdgeApplication made, its pods, and in its selector: the pool that it was made for. */
export const EDITION_LABEL = 'apps.tidegate.io/edition';
/** On a Service: KubeEdge's way to ask for the same. */
export const SERVICE_TOPOLOGY_ANNOTATION = 'apps.kubeedge.io/service-topology';
export const SERVICE_TOPOLOGY_NODE_GROUP = 'range-nodegroup';
/** On a Service: OpenYurt's way. */
export const TOPOLOGY_KEYS_ANNOTATION = 'openyurt.io/topologyKeys';
export const TOPOLOGY_KEY_NODE = 'kubernetes.io/hostname';
export const TOPOLOGY_KEY_POOL = 'openyurt.io/nodepool';
export const TOPOLOGY_KEY_ZONE = 'kubernetes.io/zone';
/** On a Service of type LoadBalancer: `true` keeps it in the cloud, kube-proxy at the edge does not see it. */
export const DISCARD_SERVICE_ANNOTATION = 'svc.openyurt.io/discard';
/** On a Service with node ports: the pools that listen on them, such as `shop-1,shop-2` or `*,-depot`. */
export const NODE_PORT_LISTEN_ANNOTATION = 'nodeport.openyurt.io/listen';
/** On an EndpointSlice: the Service whose endpoints it lists. */

/** On an Ingress: its class, from before there was a field for it. */
export const INGRESS_CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
/** On an Ingress: how it is served. Nothing else that begins so is known. */
export const INGRESS_ANNOTATION_PREFIX = 'tidegate.io/';
export const BACKEND_PROTOCOL_ANNOTATION = 'tidegate.io/backend-protocol';
export const BALANCE_ANNOTATION = 'tidegate.io/balance';
export const CONNECT_TIMEOUT_ANNOTATION = 'tidegate.io/proxy-connect-timeout';
export const READ_TIMEOUT_ANNOTATION = 'tidegate.io/proxy-read-timeout';
export const MAX_BODY_SIZE_ANNOTATION = 'tidegate.io/max-body-size';
export const SSL_REDIRECT_ANNOTATION = 'tidegate.io/ssl-redirect';
/** Begins the `spec.controller` of every IngressClass that is ours. */
export const INGRESS_CONTROLLER_PREFIX = 'tidegate.io/';
/** On an IngressClass: `true` makes it the class of Ingresses that name none. */
export const DEFAULT_CLASS_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';
/** On all that was made for an L7Router, its pods too: the name of the router. */
export const ROUTER_LABEL = 'networking.tidegate.io/router';
/** On an L7Router: the address that several classes share. */
export const SHARED_ADDRESS_LABEL = 'networking.tidegate.io/shared-address';
/** On all that was made for an L7Router: what it was made from, so that it is made again when that changes. */
export const MADE_FROM_ANNOTATION = 'networking.tidegate.io/made-from';
/** On a node, when a class asks for it: where its routers are reached, as Kuryr tells it. */
export const ROUTER_STATE_ANNOTATION = 'openstack.org/kuryr-l7-router-state';
/** On the IngressClass and the L7Router of a front door: the YurtIngress that it is for. */
export const YURT_INGRESS_LABEL = 'apps.openyurt.io/yurtingress';
/** Begins the `spec.controller` of classes that an ingress-nginx of a pool serves: each its own, as it serves all that have it. */
export const INGRESS_NGINX_CONTROLLER_PREFIX = 'ingress-nginx.tidegate.io/';

export const NODE_POOL_FINALIZER = 'apps.openyurt.io/nodepool-controller';
export const NODE_GROUP_FINALIZER = 'apps.kubeedge.io/nodegroup-controller';

export const EDGE_APPLICATION_FINALIZER = 'apps.kubeedge.io/edgeapplication-controller';

export const ROUTER_FINALIZER = 'networking.tidegate.io/l7router-controller';

export const YURT_INGRESS_FINALIZER = 'apps.openyurt.io/yurtingress-controller';

export const POOLS_FIELD_MANAGER = 'tidegate-pools';
export const APPS_FIELD_MANAGER = 'tidegate-apps';
export const INGRESS_FIELD_MANAGER = 'tidegate-ingress';
export const YURT_INGRESS_FIELD_MANAGER = 'tidegate-yurtingress';

/** Programs, by the part of their user agent before the slash. */
export const KUBELET_USER_AGENT = 'kubelet';
export const KUBE_PROXY_USER_AGENT = 'kube-proxy';
export const ROUTER_USER_AGENT = 'tidegate-router';
/** Ingress controllers: whoever says to be one of these sees only the endpoints of its pool. */
export const INGRESS_CONTROLLER_USER_AGENTS: readonly string[] = [
  ROUTER_USER_AGENT,
  'nginx-ingress-controller',
];
/** All who carry traffic to the endpoints of Services, or tell others where they are. EdgeMesh is KubeEdge's. */
export const SERVICE_CLIENT_USER_AGENTS: readonly string[] = [
  KUBE_PROXY_USER_AGENT,
  'coredns',
  'edgemesh-agent',
  'edgemesh-gateway',
  ...INGRESS_CONTROLLER_USER_AGENTS,
];

/** What Tidegate has for itself in a cluster is here; only who governs the cluster writes to it. */
export const SYSTEM_NAMESPACE = 'tidegate-system';
/** The routers of front doors are here: OpenYurt's name for it. */
export const FRONT_DOOR_NAMESPACE = 'ingress-nginx';
/** What the hubs of the cluster are told: OpenYurt's name for it, so that what is there goes on working. */
export const HUB_CONFIG_MAP = { namespace: 'kube-system', name: 'yurt-hub-cfg' } as const;
