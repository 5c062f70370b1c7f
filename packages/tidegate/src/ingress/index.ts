/**
 * Ingresses: from the objects that users write to the routes that routers serve, and to the routers themselves. This
 * folder contains the route model (`model.ts`), the compiler from objects to routes (`compile/`) and the matching rules
 * (`match/`) with policies of routes (`policy/`) and regular expressions (`regex/`), what annotations of ingress-nginx mean
 * (`nginx-annotations/`), policies as objects of their own (`attached-policies/`), and the rules of ownership of hosts (`ownership/`). It also contains the controllers of the manager: the
 * record of owners (`claims/`), which classes belong to Tidegate (`classes/`), which host
 * is on which router (`host-placement/`), the contract of provisioners (`provisioners/`), the calls of provisioners
 * (`programming/`), the provisioner of routers in the cluster (`provision/`) and the status of routers and Ingresses
 * (`status/`).
 *
 * A user creates the first Ingress of class gold:
 *   1. The claims controller records the HostClaim of the namespace. The compiler of the family of gold finds a host with
 *      its rules and its claim.
 *   2. Placement finds no router with room, and creates the L7Router gold with the host in `spec.hosts`.
 *   3. Programming calls its provisioner, which creates a Deployment, a Service and RBAC objects for the router.
 *   4. The agent in the pod starts, serves the host and reports the generation in the status of the L7Router.
 *   5. Status writes the address to the L7Router and to the Ingress.
 * The user deletes the Ingress: the host has no rules any more. Placement deletes the router. Its provisioner
 * deletes the objects of the router, and when they are gone, programming removes the finalizer of the L7Router.
 */

import { NODES, orAborted, sleep } from '@tidegate/kube';
import { L7_ROUTERS, ROUTER_PROVISIONERS } from '../api/index.ts';
import { hostClaims } from './claims/index.ts';
import { ClassTable } from './classes/index.ts';
import type { IngressContext } from './context.ts';
import {
  Departures,
  FamilyPlacements,
  hostPlacementController,
  RoutesByFamily,
} from './host-placement/index.ts';
import {
  cleanUpLeftovers,
  provisionController,
  RouterPrograms,
  RouterSnapshots,
} from './programming/index.ts';
import {
  FreeNodes,
  ProvisionedObjects,
  RouterPods,
  secretAccessController,
  secretVersionsController,
  WORKLOAD_KINDS,
  workloadProvisioners,
} from './provision/index.ts';
import { ProvisionerRegistry } from './provisioners/index.ts';
import {
  ingressStatusController,
  nodeAnnotationController,
  policyStatusController,
  routerStatusController,
} from './status/index.ts';
import { TlsSecrets } from './tls-secrets.ts';

export { oneSnapshot, type SnapshotObjects } from './programming/index.ts';
export { type RouterPolicy, type RouterPorts, servedDisruptionBudgets } from './provision/index.ts';
export type { Provisioner } from './provisioners/index.ts';
export { TlsSecrets } from './tls-secrets.ts';

/** Certificates expire without any watch event, so they are checked at this interval too. */
const RECHECK_MS = 3_600_000;

/** Runs all controllers of classes and routers until the signal is aborted. */
export async function runIngressControllers(context: IngressContext, signal: AbortSignal): Promise<void> {
  const parts = partsOf(context);
  const { classes, routesByFamily } = parts;
  const claims = hostClaims(context, classes);
  const { controllers, provision } = makeControllers(context, parts);
  const claiming = claims.controller.run(signal);
  try {
    // Wait for the complete state. With a part of it, a router could look unused, and placement would delete it. A host
    // without a claim is not served, so claims come before routes; after an upgrade, all of them are missing.
    await orAborted(classes.follow(), signal);
    await orAborted(claims.follow(), signal);
    await orAborted(routesByFamily.follow(), signal);
  } catch (error) {
    parts.freeNodes.end();
    await claiming;
    if (!signal.aborted) throw error;
    return;
  }
  await Promise.all([
    claiming,
    parts.freeNodes.run(signal),
    ...controllers.map((controller) => controller.run(signal)),
    recheckCertificates(routesByFamily, context, signal),
    cleanUpLeftovers(context, parts.registry, (router) => provision.enqueue(router), signal),
  ]);
}

/** What the controllers share. */
function partsOf(context: IngressContext) {
  const { informers, provisioners = [] } = context;
  const provisioned = new ProvisionedObjects(context);
  const pods = new RouterPods(context);
  const freeNodes = new FreeNodes(informers.for(NODES), context.clock);
  const registry = new ProvisionerRegistry(
    [...workloadProvisioners(context, provisioned, pods, freeNodes), ...provisioners],
    informers.for(ROUTER_PROVISIONERS),
  );
  const secrets = new TlsSecrets({ ...context, provisioners: registry });
  const classes = new ClassTable({ ...context, provisioners: registry });
  const departures = new Departures(informers.for(L7_ROUTERS), () => context.clock.now());
  const routesByFamily = new RoutesByFamily(context, classes, secrets, departures);
  const snapshots = new RouterSnapshots(context, secrets, departures);
  const programs = new RouterPrograms();
  const placements = new FamilyPlacements(classes);
  return {
    provisioned,
    pods,
    freeNodes,
    registry,
    classes,
    routesByFamily,
    snapshots,
    programs,
    placements,
    departures,
  };
}

/** Connects the controllers: results of one controller enqueue keys of another. */
function makeControllers(context: IngressContext, parts: ReturnType<typeof partsOf>) {
  const { classes, routesByFamily, provisioned, pods, freeNodes, placements, departures } = parts;
  const routers = context.informers.for(L7_ROUTERS);
  const ingressStatus = ingressStatusController(context, classes, routesByFamily, departures);
  const routerStatus = routerStatusController(context, parts);
  const provision = provisionController(context, {
    ...parts,
    isDraining: (router) => placements.isDraining(router),
  });
  provisioned.watchedBy(provision, WORKLOAD_KINDS);
  provisioned.keptBy(provision, WORKLOAD_KINDS);
  // The keeper of shared pods names all routers in them as owners.
  provision.watch(
    routers,
    (router) => [provisioned.members.keeperOf(router)?.metadata.name ?? []].flat(),
    (old, { metadata }) =>
      old.metadata.generation !== metadata.generation ||
      old.metadata.deletionTimestamp !== metadata.deletionTimestamp,
  );
  freeNodes.onChange(() => {
    for (const { spec, metadata } of routers.cache.list())
      if (spec.pool === undefined) provision.enqueue(`${metadata.name}`);
  });
  const placement = hostPlacementController(context, parts, {
    drained: (router) => provision.enqueue(router),
    ingress: (key) => ingressStatus.enqueue(key),
    family: (key) => {
      for (const { spec, metadata } of routers.cache.list()) {
        if (classes.familyOf(spec.ingressClassName)?.key === key) routerStatus.enqueue(`${metadata.name}`);
      }
    },
  });
  const controllers = [
    placement,
    provision,
    secretAccessController(context, provisioned, (namespace) => routesByFamily.readCertificatesOf(namespace)),
    secretVersionsController(context),
    routerStatus,
    ingressStatus,
    policyStatusController(context),
    nodeAnnotationController(context, classes, provisioned, pods),
  ];
  return { controllers, provision };
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
