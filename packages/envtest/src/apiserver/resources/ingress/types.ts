/** The fields of Ingress, IngressClass and NetworkPolicy that the server uses. */
import type { KubeObject } from '@tidegate/kube';
import type { LoadBalancerIngress } from '../service/types.ts';
import type { LabelSelector } from '../validation/selectors.ts';

export interface TypedReference {
  apiGroup?: string;
  kind?: string;
  name?: string;
}

export interface IngressBackend {
  service?: { name?: string; port?: { name?: string; number?: number } };
  resource?: TypedReference;
}

export interface IngressPath {
  path?: string;
  pathType?: string;
  backend?: IngressBackend;
}

export interface IngressRule {
  host?: string;
  http?: { paths?: IngressPath[] };
}

export interface IngressTLS {
  hosts?: string[];
  secretName?: string;
}

export interface IngressSpec {
  ingressClassName?: string;
  defaultBackend?: IngressBackend;
  rules?: IngressRule[];
  tls?: IngressTLS[];
}

export interface Ingress extends KubeObject {
  spec: IngressSpec;
  status: { loadBalancer?: { ingress?: LoadBalancerIngress[] } };
}

export interface IngressClassParameters extends TypedReference {
  scope?: string;
  namespace?: string;
}

export interface IngressClass extends KubeObject {
  spec: { controller?: string; parameters?: IngressClassParameters };
}

export interface NetworkPolicyPort {
  protocol?: string;
  port?: number | string;
  endPort?: number;
}

export interface NetworkPolicyPeer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr?: string; except?: string[] };
}

export interface NetworkPolicy extends KubeObject {
  spec: {
    podSelector?: LabelSelector;
    policyTypes?: string[];
    ingress?: { ports?: NetworkPolicyPort[]; from?: NetworkPolicyPeer[] }[];
    egress?: { ports?: NetworkPolicyPort[]; to?: NetworkPolicyPeer[] }[];
  };
}

export const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
export const DEFAULT_CLASS_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';
