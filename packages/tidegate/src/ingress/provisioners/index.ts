/**
 * Provisioners: what creates, programs and deletes the load balancer of an L7Router. A class names its provisioner in
 * `spec.controller`. This folder has the contract (`contract.ts`, `parameters.ts`, `snapshot.ts`, `capabilities.ts`).
 *
 * What does what for a router, depending on `programming` of its provisioner:
 *
 * | programming | creates the load balancer        | programs routes                              | example           |
 * | ----------- | -------------------------------- | -------------------------------------------- | ----------------- |
 * | `agent`     | `ensure`, in the manager         | an agent beside the data plane (`../router`) | tidegate.io/nginx |
 * | `manager`   | `ensure`, in the manager         | `reconcile`, in the manager                  | a cloud's API     |
 * | `external`  | another program, by the L7Router | the same program, which writes its status    | example.com/f5    |
 *
 * For all three, the manager resolves classes and parameters, places hosts on L7Routers within the limits of the
 * provisioner, and writes the addresses of L7Routers to the status of Ingresses.
 *
 * A router of a provisioner with `programming: 'manager'`:
 *   1. Placement creates the L7Router with its hosts. The manager adds its finalizer and calls `ensure`.
 *   2. `ensure` creates the load balancer and returns its addresses. The manager writes them to `status.addresses`.
 *   3. The compiler of the router has a snapshot: the manager calls `reconcile`. Calls for one router never overlap.
 *   4. `reconcile` returns the hosts that it could not program. The manager writes `status.appliedGeneration`,
 *      `status.failedHosts` and the condition Ready, and then the addresses appear in the status of Ingresses.
 *   5. The L7Router is deleted: the manager calls `remove` until it resolves, and removes the finalizer.
 */
export { BUILT_IN, COMMON_PARAMETERS } from './built-in.ts';
export type { Capability } from './capabilities.ts';
export { checkParameters, durationMs, type Parameters, sizeProblem } from './check-parameters.ts';
export type {
  Capacity,
  Ensured,
  FailedHost,
  LoadBalancer,
  Programming,
  ProvisionContext,
  Provisioner,
  ProvisionerProfile,
  Reconciled,
  ReconcileProgress,
  Removed,
} from './contract.ts';
export { RefusedError } from './contract.ts';
export { notSupported, notSupportedHost, withClosedHosts } from './needs.ts';
export type { ParameterRule, ParameterSchema } from './parameters.ts';
export { isImplemented, ProvisionerRegistry } from './registry.ts';
export type { RouterSnapshot } from './snapshot.ts';
