/**
 * Provisioning: what carries the bytes of an L7Router, made in the cluster. workload.ts says what that is, pure, with a
 * file for each program that may do it (tidegate-router.ts, ingress-nginx.ts); Made applies it, finds it again by its
 * label, and takes it away; controller.ts keeps it so, secret-access.ts lets the router read the Secrets that its
 * Ingresses name.
 */
export { provisionController } from './controller.ts';
export { workloadName, workloadOf } from './identity.ts';
export { isMadeFrom, Made } from './made.ts';
export { secretAccessController } from './secret-access.ts';
