/**
 * The provisioner of routers that run in the cluster. workload.ts is pure and returns the objects of an L7Router, with one
 * file for each program that can run as a router (tidegate-router.ts, ingress-nginx.ts). ProvisionedObjects applies,
 * finds and deletes them. workload-provisioner.ts implements the contract of `../provisioners` with them. secret-access.ts
 * lets a router read exactly the Secrets that its Ingresses name, and secret-versions-controller.ts notifies it of changes.
 */
export { addressesOf } from './addresses.ts';
export { servedDisruptionBudgets } from './disruption-budgets.ts';
export { FreeNodes } from './free-nodes.ts';
export { podsNameOf, workloadName, workloadOf } from './identity.ts';
export type { RouterPolicy } from './policy.ts';
export { ProvisionedObjects } from './provisioned-objects.ts';
export { isReady, RouterPods } from './router-pods.ts';
export type { RouterPorts } from './router-program.ts';
export { secretAccessController } from './secret-access.ts';
export { secretVersionsController } from './secret-versions-controller.ts';
export { WORKLOAD_KINDS, workloadProvisioners } from './workload-provisioner.ts';
