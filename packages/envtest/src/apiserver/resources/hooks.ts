/** What the built-in resources need from other parts of the server. */
import type { KubeObject } from '@tidegate/kube';
import type { ServiceAllocator } from './service/allocator.ts';
import type { Connect, RequestContext, Strategy, SubresourceHandler } from './types.ts';

export type ReviewResource =
  | 'tokenreviews'
  | 'selfsubjectreviews'
  | 'subjectaccessreviews'
  | 'selfsubjectaccessreviews'
  | 'localsubjectaccessreviews'
  | 'selfsubjectrulesreviews';

export type Review = (object: KubeObject, context: RequestContext) => Promise<KubeObject>;

/** What the kubelets of nodes answer for: logs and streams of pods, and a node's own HTTP interface. */
export type KubeletHooks = Record<'log' | 'exec' | 'attach' | 'portforward' | 'proxy', Connect>;

export interface BuiltinHooks {
  /** Hands out cluster IPs and node ports. */
  services: ServiceAllocator;
  reviews: Record<ReviewResource, Review>;
  /** `serviceaccounts/token`: signs a token. */
  serviceAccountToken: SubresourceHandler;
  /** `pods/eviction`: deletes the pod if its disruption budget allows. */
  eviction: SubresourceHandler;
  kubelets: KubeletHooks;
  /** Validation and status of CustomResourceDefinitions. */
  customResourceDefinition: Strategy;
}
