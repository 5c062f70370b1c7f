/**
 * Status: what users see. An L7Router reports its addresses, hosts, problems and conditions. An Ingress reports the
 * addresses of its router; problems that only its router can find become events (`reported-problems.ts`). RoutePolicies report what has become of them at each target
 * (`policy-status.ts`). A node gets an annotation with the address of its router, if the class asks for it.
 */
export { ingressStatusController } from './ingress-controller.ts';
export { nodeAnnotationController } from './node-annotation.ts';
export { policyStatusController } from './policy-controller.ts';
export { isFailure } from './rollout.ts';
export { routerStatusController } from './router-controller.ts';
