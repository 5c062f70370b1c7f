/**
 * The API: the kinds that users write. Each kind has one file with its TypeScript type, structural schema (with
 * descriptions and CEL rules), printer columns and resource. names.ts has every label, annotation, finalizer and user
 * agent. This folder has no behavior and imports nothing from the rest of the product.
 *
 * Walk: a NodePool. `kubectl apply` sends it to the API server, which validates it with the schema of node-pool.ts, as
 * installed from `customResourceDefinitions()`. An informer delivers it to the controllers as the type `NodePool`. For
 * clients of other versions, node-pool-conversion.ts converts it.
 */
import { edgeApplicationDefinition } from './edge-application.ts';
import { hostClaimDefinition } from './host-claim.ts';
import { ingressClassParametersDefinition } from './ingress-class-parameters.ts';
import { ingressClassPolicyDefinition } from './ingress-class-policy.ts';
import { l7RouterDefinition } from './l7-router.ts';
import { nodeGroupDefinition } from './node-group.ts';
import { nodePoolDefinition } from './node-pool.ts';
import type { CustomResourceDefinition } from './schema.ts';
import { yurtIngressDefinition } from './yurt-ingress.ts';

export * from './edge-application.ts';
export * from './host-claim.ts';
export * from './ingress-class-parameters.ts';
export * from './ingress-class-policy.ts';
export * from './l7-router.ts';
export * from './name-reference.ts';
export * from './names.ts';
export * from './node-group.ts';
export * from './node-pool.ts';
export { convertNodePool } from './node-pool-conversion.ts';
export type * from './object.ts';
export type * from './overriders.ts';
export type { CustomResourceDefinition, Schema, ValidationRule } from './schema.ts';
export * from './yurt-ingress.ts';

/** All CRDs of Tidegate. */
export const customResourceDefinitions = (): CustomResourceDefinition[] => [
  nodePoolDefinition(),
  nodeGroupDefinition(),
  edgeApplicationDefinition(),
  ingressClassParametersDefinition(),
  ingressClassPolicyDefinition(),
  hostClaimDefinition(),
  l7RouterDefinition(),
  yurtIngressDefinition(),
];
