/**
 * The provisioner: implements `ensure`, `remove` and `reconcile` of the contract with calls of OpenStack.
 *
 * `ensure` finds the load balancer by its tags or creates it, repairs it, and gives it a floating IP. `reconcile` reads
 * what the load balancer has (`observe.ts`; only after a restart, an error, and from time to time), makes a plan, and
 * makes its calls one by one (`execute.ts`, `waiting.ts`). If what exists is not what the plan expected, because another
 * program has changed it, everything is read again and a new plan is made.
 */
export { NOT_CONFIGURED } from './not-configured.ts';
export { OctaviaProvisioner } from './provisioner.ts';
