/**
 * The API: the kinds that users write. Each kind has one file with its TypeScript type, structural schema (with
 * descriptions and CEL rules), printer columns and resource. L7Router has two: the schema and the columns are in
 * l7-router-definition.ts. RoutePolicy has its fields in route-policy-sections.ts. names.ts has every label, annotation, finalizer and user agent. This folder has no behavior and
 * imports nothing from the rest of the product.
 *
 * Walk: a NodePool. `kubectl apply` sends it to the API server, which validates it with the schema of node-pool.ts, as
 * installed from `customResourceDefinitions()`. An informer delivers it to the controllers as the type `NodePool`. For
 * clients of other versions, node-pool-conversion.ts converts it.
 */
import { edgeApplicationDefinition } from './edge-application.ts';
import { hostClaimDefinition } from './host-claim.ts';
import { ingressClassParametersDefinition } from './ingress-class-parameters.ts';
import { ingressClassPolicyDefinition } from './ingress-class-policy.ts';
import { l7RouterDefinition } from './l7-router-definition.ts';
import { nodeGroupDefinition } from './node-group.ts';
import { nodePoolDefinition } from './node-pool.ts';
import { clusterRoutePolicyDefinition, routePolicyDefinition } from './route-policy.ts';
import { routerProvisionerDefinition } from './router-provisioner.ts';
import type { CustomResourceDefinition } from './schema.ts';
import { yurtAppDaemonDefinition } from './yurt-app-daemon.ts';
import { yurtAppOverriderDefinition } from './yurt-app-overrider.ts';
import { yurtAppSetDefinition } from './yurt-app-set.ts';
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
export { convertNodePool, wholeNodePool } from './node-pool-conversion.ts';
export type * from './object.ts';
export type * from './overriders.ts';
export type * from './rollout.ts';
export * from './route-policy.ts';
export * from './route-policy-sections.ts';
export * from './router-provisioner.ts';
export type { CustomResourceDefinition, Schema, ValidationRule } from './schema.ts';
export * from './yurt-app-daemon.ts';
export * from './yurt-app-overrider.ts';
export * from './yurt-app-set.ts';

export type * from './yurt-app-template.ts';
export * from './yurt-ingress.ts';

/** All CRDs of Tidegate. */
export const customResourceDefinitions = (): CustomResourceDefinition[] => [
  nodePoolDefinition(),
  nodeGroupDefinition(),
  edgeApplicationDefinition(),
  ingressClassParametersDefinition(),
  ingressClassPolicyDefinition(),
  routePolicyDefinition(),
  clusterRoutePolicyDefinition(),
  hostClaimDefinition(),
  l7RouterDefinition(),
  routerProvisionerDefinition(),
  yurtIngressDefinition(),
  yurtAppSetDefinition(),
  yurtAppDaemonDefinition(),
  yurtAppOverriderDefinition(),
];
