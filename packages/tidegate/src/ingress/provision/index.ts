/**
 * Provisioning: the objects in the cluster that run an L7Router. workload.ts is pure and returns these objects, with one
 * file for each program that can run as a router (tidegate-router.ts, ingress-nginx.ts). ProvisionedObjects applies,
 * finds and deletes them. controller.ts reconciles them. secret-access.ts lets a router read exactly the Secrets that
 * its Ingresses name.
 */
export { provisionController } from './controller.ts';
export { servedDisruptionBudgets } from './disruption-budgets.ts';
export { workloadName, workloadOf } from './identity.ts';
export { NamespacedInformers } from './namespaced-informers.ts';
export { namespacesOf, type RouterPolicy } from './policy.ts';
export { isMadeFrom, ProvisionedObjects } from './provisioned-objects.ts';
export type { RouterPorts } from './router-program.ts';
export { secretAccessController } from './secret-access.ts';
