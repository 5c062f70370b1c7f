/**
 * Provisioning: what carries the bytes of an L7Router, made in the cluster. workload.ts says what that is, pure; Made
 * applies it, finds it again by its label, and takes it away; controller.ts keeps it so, secret-access.ts lets the
 * router read the Secrets that its Ingresses name.
 */
export { provisionController } from './controller.ts';
export { workloadName, workloadOf } from './identity.ts';
export { Made } from './made.ts';
export { secretAccessController } from './secret-access.ts';
