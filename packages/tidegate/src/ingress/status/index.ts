/**
 * Status: what people see of all this. Of an L7Router where it is reached and what it serves, of an Ingress where it is
 * reached, of a node, when a class asks for it, which router it carries.
 */
export { ingressStatusController } from './ingress-controller.ts';
export { nodeAnnotationController } from './node-annotation.ts';
export { isFailure } from './rollout.ts';
export { routerStatusController } from './router-controller.ts';
