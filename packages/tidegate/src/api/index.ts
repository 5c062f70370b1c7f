/**
 * The kinds that people write: for each its type, its structural schema with rules and messages, its printer columns,
 * and where the API server keeps it. names.ts has every label, annotation and finalizer. Nothing here does anything.
 *
 * An object's way: kubectl apply -> the API server checks it by the schema here and stores it -> an informer hands it
 * to a controller as the type here.
 */
import { edgeApplicationDefinition } from './edge-application.ts';
import { ingressClassParametersDefinition } from './ingress-class-parameters.ts';
import { l7RouterDefinition } from './l7-router.ts';
import { nodeGroupDefinition } from './node-group.ts';
import { nodePoolDefinition } from './node-pool.ts';
import type { CustomResourceDefinition } from './schema.ts';
import { yurtIngressDefinition } from './yurt-ingress.ts';

export * from './edge-application.ts';
export * from './ingress-class-parameters.ts';
export * from './l7-router.ts';
export * from './names.ts';
export * from './node-group.ts';
export * from './node-pool.ts';
export { convertNodePool } from './node-pool-conversion.ts';
export type * from './object.ts';
export type * from './overriders.ts';
export type { CustomResourceDefinition } from './schema.ts';
export * from './yurt-ingress.ts';

/** Everything that a cluster must know before Tidegate's objects can be written to it. */
export const customResourceDefinitions = (): CustomResourceDefinition[] => [
  nodePoolDefinition(),
  nodeGroupDefinition(),
  edgeApplicationDefinition(),
  ingressClassParametersDefinition(),
  l7RouterDefinition(),
  yurtIngressDefinition(),
];
