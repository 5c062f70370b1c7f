/**
 * L7Router: one provisioned load balancer. Its creator sets the class and the driver. The provisioner of the driver
 * creates the data plane and reports the addresses in the status.
 */
import type { Condition, KindResource, Metadata } from './object.ts';

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
  /** `Local`: the Service keeps the addresses of clients, and only nodes with a pod of the router answer. */
  externalTrafficPolicy?: 'Cluster' | 'Local';
  httpPort?: number;
  httpsPort?: number;
  nodePorts?: { http?: number; https?: number };
  /** Write one line of JSON per request to the log of the pod. */
  accessLog?: boolean;
  /** Routers with the same value run in the same pods. Each of them has its own Service, and so its own address. */
  sharedPods?: string;
  /** Number of this router in its shared pods, from 1. It determines the ports that the pods serve the router on. */
  section?: number;
};

/** How clients reach the router, and what it believes about them. */
export type RouterClients = {
  /** The ports that clients connect to. Default: those of the Service. */
  httpPort?: number;
  httpsPort?: number;
  /** Networks of proxies that may report the address of a client. Default: none. */
  trustedProxies?: string[];
  /** All connections begin with a header of the PROXY protocol. */
  proxyProtocol?: boolean;
  /** The header in which trusted proxies report addresses. Default: none. */
  header?: string;
  /** Trusted proxies also report scheme, host and port. */
  wholeUrl?: boolean;
  /** Backends get all addresses of X-Forwarded-For. */
  fullForwardedFor?: boolean;
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
  /** Ingresses, `namespace/name`, that have left the classes of the router and are served here until clients have followed. */
  departing?: string[];
  /** When the Ingresses in `departing` have left their class. */
  departingSince?: RouterDeparture[];
  /** Classes that have left the address of the router, while Ingresses of them are in `departing`. */
  departedClasses?: DepartedClass[];
  workload?: RouterWorkload;
  clients?: RouterClients;
  /** Values of annotations of ingress-nginx, without prefix, for Ingresses that do not have them. */
  ingressDefaults?: Record<string, string>;
  /** The parameters of the class, for provisioners that do not run routers as Deployments. */
  parameters?: Record<string, string>;
};

/** The time from which on an Ingress waits for the routers of its new class. */
export type RouterDeparture = { ingress: string; since: string };

/** HostClaims of the class count on the router if they are not later than `since`. */
export type DepartedClass = { ingressClassName: string; since: string };

/** Same format as in the status of an Ingress. */
export type RouterAddress = { ip?: string; hostname?: string; ports?: { port: number; protocol: string }[] };

/** Report of one running router. Each router applies its own entry, with the name of its pod as field manager. */
export type RouterAgent = {
  name: string;
  appliedGeneration: number;
  time?: string;
  /** What only the router can know: problems of users and passwords, and what its data plane has no room for. */
  problems?: RouterProblem[];
  /** Identifies the RoutePolicies and ClusterRoutePolicies that the router has applied, with their generations. */
  policies?: string;
};

/** Hosts and Ingresses that another router serves since a time. They are served here too until the drain time is over. */
export type RouterDrain = { since: string; hosts?: string[]; ingresses?: string[]; all?: boolean };

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
  /** Since when other routers serve what leaves this one. Placement writes it, so that a restart does not begin anew. */
  draining?: RouterDrain[];
  /** The first problems. `problemCount` is the total number. */
  problems?: RouterProblem[];
  problemCount?: number;
  /** Versions of the Secrets that the router may read, by group of Secrets (`ingress/secret-versions.ts`). */
  secretVersions?: Record<string, string>;
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
/** Characters in the message of a problem that a router reports. */
export const MOST_PROBLEM_TEXT = 1_024;
export const MOST_FAILED_HOSTS = 1_000;
export const MOST_SECRET_GROUPS = 256;

/** How many routers can share pods. The pods listen on the ports of all sections from the start. */
export const MOST_SECTIONS = 250;

const FIRST_PORTS = { http: 20_000, https: 21_000 };

/** The ports in shared pods on which a section is served. */
export const sectionPorts = (section: number): { http: number; https: number } => ({
  http: FIRST_PORTS.http + section,
  https: FIRST_PORTS.https + section,
});

/** The section that is served on this port for HTTP. Undefined if it is another port. */
export const sectionOfPort = (http: unknown): number | undefined => {
  const section = Number(http) - FIRST_PORTS.http;
  return section >= 1 && section <= MOST_SECTIONS ? section : undefined;
};
