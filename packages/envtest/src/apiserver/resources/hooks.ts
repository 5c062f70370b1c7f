/** The parts of the server that the built-in resources need. */
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

/** Requests that kubelets answer: logs and streams of pods, and the HTTP API of nodes. */
export type KubeletHooks = Record<'log' | 'exec' | 'attach' | 'portforward' | 'proxy', Connect>;

/** What built-in kinds need from other parts of the server, passed in so that this folder does not import them. */
export interface BuiltinHooks {
  /** Allocates cluster IPs and node ports. */
  services: ServiceAllocator;
  reviews: Record<ReviewResource, Review>;
  /** `serviceaccounts/token`: issues a token. */
  serviceAccountToken: SubresourceHandler;
  /** `pods/eviction`: deletes the pod if its PodDisruptionBudget allows it. */
  eviction: SubresourceHandler;
  kubelets: KubeletHooks;
  /** Validation and status of CustomResourceDefinitions. */
  customResourceDefinition: Strategy;
}
