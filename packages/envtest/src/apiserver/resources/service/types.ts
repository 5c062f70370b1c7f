/** The fields of services that the server uses. */
import type { Condition, KubeObject } from '@tidegate/kube';

export interface ServicePort {
  name?: string;
  protocol?: string;
  appProtocol?: string;
  port?: number;
  targetPort?: number | string;
  nodePort?: number;
}

export interface LoadBalancerIngress {
  ip?: string;
  hostname?: string;
  ipMode?: string;
}

export interface ServiceSpec {
  type?: string;
  selector?: Record<string, string>;
  ports?: ServicePort[];
  clusterIP?: string;
  clusterIPs?: string[];
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
  externalIPs?: string[];
  externalName?: string;
  externalTrafficPolicy?: string;
  internalTrafficPolicy?: string;
  trafficDistribution?: string;
  healthCheckNodePort?: number;
  loadBalancerIP?: string;
  loadBalancerClass?: string;
  loadBalancerSourceRanges?: string[];
  allocateLoadBalancerNodePorts?: boolean;
  publishNotReadyAddresses?: boolean;
  sessionAffinity?: string;
  sessionAffinityConfig?: { clientIP?: { timeoutSeconds?: number } };
}

export interface Service extends KubeObject {
  spec: ServiceSpec;
  status: { loadBalancer?: { ingress?: LoadBalancerIngress[] }; conditions?: unknown[] };
}

export const HEADLESS = 'None';

export const usesNodePorts = ({ type }: ServiceSpec): boolean =>
  type === 'NodePort' || type === 'LoadBalancer';

export const isExternallyAccessible = (spec: ServiceSpec): boolean =>
  usesNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);

/** Load balancers query this port to find the nodes with a local endpoint. */
export const needsHealthCheck = (spec: ServiceSpec): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

export const nodePortsOf = (spec: ServiceSpec): number[] =>
  (spec.ports ?? []).map((port) => port.nodePort ?? 0).filter((port) => port !== 0);

export interface ParentReference {
  group?: string;
  resource?: string;
  namespace?: string;
  name?: string;
}

export interface IPAddress extends KubeObject {
  spec: { parentRef?: ParentReference };
}

export interface ServiceCIDR extends KubeObject {
  spec: { cidrs?: string[] };
  status: { conditions?: Condition[] };
}
