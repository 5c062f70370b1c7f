/**
 * Ingresses: from what people write to what routers are told, and to routers being there at all. This folder owns the
 * route model (`model.ts`), how it is made of objects (`compile/`), what it means (`match/`); and what the manager does
 * about it: whose classes are ours (`classes/`), which host is on which router (`host-placement/`), the workloads of routers
 * (`provision/`), and what is told about it all (`status/`).
 *
 * The first Ingress of class gold:
 *   the compiler of gold's family finds a host with its rules -> placement finds no router with room, and makes the
 *   L7Router gold with the host -> provision makes a Deployment, a Service and rights for it -> its agent starts, serves
 *   the host and says so in the L7Router's status -> status tells the address there, and in the Ingress.
 * The Ingress is deleted: the host is gone -> placement deletes the router that nobody needs -> provision takes all away
 * that it made, sees that it is gone, and lets the L7Router go.
 */

import { orAborted, sleep } from '@tidegate/kube';
import { L7_ROUTERS } from '../api/index.ts';
import { ClassTable } from './classes/index.ts';
import type { IngressContext } from './context.ts';
import { hostPlacementController, RoutesByFamily } from './host-placement/index.ts';
import { Made, provisionController, secretAccessController } from './provision/index.ts';
import { ingressStatusController, nodeAnnotationController, routerStatusController } from './status/index.ts';

/** Certificates expire without anybody writing anything. */
const RECHECK_MS = 3_600_000;

/** Runs all controllers of classes and routers until the signal is aborted. */
export async function runIngressControllers(context: IngressContext, signal: AbortSignal): Promise<void> {
  const classes = new ClassTable(context);
  const routesByFamily = new RoutesByFamily(context, classes);
  const controllers = makeControllers(context, classes, routesByFamily);
  try {
    // Before all is known, a router might seem to be nobody's.
    await orAborted(classes.follow(), signal);
    await orAborted(routesByFamily.follow(), signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return;
  }
  await Promise.all([
    ...controllers.map((controller) => controller.run(signal)),
    recheckCertificates(routesByFamily, context, signal),
  ]);
}

function makeControllers(context: IngressContext, classes: ClassTable, routesByFamily: RoutesByFamily) {
  const routers = context.informers.for(L7_ROUTERS);
  const made = new Made(context);
  const provisionProblems = new Map<string, string>();
  const ingressStatus = ingressStatusController(context, classes, routesByFamily);
  const routerStatus = routerStatusController(context, { classes, routesByFamily, made, provisionProblems });
  const provision = provisionController(context, made, (router, problem) => {
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
    secretAccessController(context, made),
    routerStatus,
    ingressStatus,
    nodeAnnotationController(context, classes, made),
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
