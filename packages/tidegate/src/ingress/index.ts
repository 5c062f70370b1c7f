/**
 * Ingresses: from the objects that users write to the routes that routers serve, and to the routers themselves. This
 * folder contains the route model (`model.ts`), the compiler from objects to routes (`compile/`) and the matching rules
 * (`match/`), and the rules of ownership of hosts (`ownership/`). It also contains the controllers of the manager: the
 * record of owners (`claims/`), which classes belong to Tidegate (`classes/`), which host
 * is on which router (`host-placement/`), the workloads of routers (`provision/`) and the status of routers and
 * Ingresses (`status/`).
 *
 * A user creates the first Ingress of class gold:
 *   1. The claims controller records the HostClaim of the namespace. The compiler of the family of gold finds a host with
 *      its rules and its claim.
 *   2. Placement finds no router with room, and creates the L7Router gold with the host in `spec.hosts`.
 *   3. Provision creates a Deployment, a Service and RBAC objects for the router.
 *   4. The agent in the pod starts, serves the host and reports the generation in the status of the L7Router.
 *   5. Status writes the address to the L7Router and to the Ingress.
 * The user deletes the Ingress: the host has no rules any more. Placement deletes the router. Provision deletes the
 * objects of the router, waits until they are gone, and then removes the finalizer of the L7Router.
 */

import { orAborted, sleep } from '@tidegate/kube';
import { L7_ROUTERS } from '../api/index.ts';
import { hostClaims } from './claims/index.ts';
import { ClassTable } from './classes/index.ts';
import type { IngressContext } from './context.ts';
import { hostPlacementController, RoutesByFamily } from './host-placement/index.ts';
import { ProvisionedObjects, provisionController, secretAccessController } from './provision/index.ts';
import { ingressStatusController, nodeAnnotationController, routerStatusController } from './status/index.ts';

export { type RouterPolicy, type RouterPorts, servedDisruptionBudgets } from './provision/index.ts';
export { TlsSecrets } from './tls-secrets.ts';

/** Certificates expire without any watch event, so they are checked at this interval too. */
const RECHECK_MS = 3_600_000;

/** Runs all controllers of classes and routers until the signal is aborted. */
export async function runIngressControllers(context: IngressContext, signal: AbortSignal): Promise<void> {
  const classes = new ClassTable(context);
  const routesByFamily = new RoutesByFamily(context, classes);
  const claims = hostClaims(context, classes);
  const controllers = makeControllers(context, classes, routesByFamily);
  const claiming = claims.controller.run(signal);
  try {
    // Wait for the complete state. With a part of it, a router could look unused, and placement would delete it. A host
    // without a claim is not served, so claims come before routes; after an upgrade, all of them are missing.
    await orAborted(classes.follow(), signal);
    await orAborted(claims.follow(), signal);
    await orAborted(routesByFamily.follow(), signal);
  } catch (error) {
    await claiming;
    if (!signal.aborted) throw error;
    return;
  }
  await Promise.all([
    claiming,
    ...controllers.map((controller) => controller.run(signal)),
    recheckCertificates(routesByFamily, context, signal),
  ]);
}

/** Connects the controllers: results of one controller enqueue keys of another. */
function makeControllers(context: IngressContext, classes: ClassTable, routesByFamily: RoutesByFamily) {
  const routers = context.informers.for(L7_ROUTERS);
  const provisioned = new ProvisionedObjects(context);
  /** Why provisioning of a router failed last time, by name of the router. Written here, reported by the status. */
  const provisionProblems = new Map<string, string>();
  const ingressStatus = ingressStatusController(context, classes, routesByFamily);
  const routerStatus = routerStatusController(context, {
    classes,
    routesByFamily,
    provisioned,
    provisionProblems,
  });
  const provision = provisionController(context, provisioned, (router, problem) => {
    if (provisionProblems.get(router) === problem) return;
    if (problem === undefined) provisionProblems.delete(router);
    else provisionProblems.set(router, problem);
    routerStatus.enqueue(router);
  });
  const placement = hostPlacementController(context, classes, routesByFamily, {
    ingress: (key) => ingressStatus.enqueue(key),
    family: (key) => {
      for (const { spec, metadata } of routers.cache.list()) {
        if (classes.familyOf(spec.ingressClassName)?.key === key) routerStatus.enqueue(`${metadata.name}`);
      }
    },
  });
  return [
    placement,
    provision,
    secretAccessController(context, provisioned, (namespace) => routesByFamily.readCertificatesOf(namespace)),
    routerStatus,
    ingressStatus,
    nodeAnnotationController(context, classes, provisioned),
  ];
}

async function recheckCertificates(
  routesByFamily: RoutesByFamily,
  { clock }: IngressContext,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await sleep(clock, RECHECK_MS, signal);
    } catch {
      return; // Aborted.
    }
    routesByFamily.recheckCertificates();
  }
}
