import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  Controller,
  INGRESSES,
  type Ingress,
  isBeingDeleted,
  isNotFound,
  keyOf,
  SetsByKey,
} from '@tidegate/kube';
import {
  INGRESS_FIELD_MANAGER,
  L7_ROUTERS,
  type L7Router,
  type RouterAddress,
  type RouterFailedHost,
} from '../../api/index.ts';
import { type ClassTable, classesOf } from '../classes/index.ts';
import { classNameOf } from '../compile/index.ts';
import type { IngressContext } from '../context.ts';
import { type Departures, isServing, type RoutesByFamily, ServedBy } from '../host-placement/index.ts';
import type { HostName } from '../model.ts';

/**
 * Writes the addresses of their routers to the status of Ingresses, and removes them when Tidegate no longer serves the
 * Ingress.
 */
export function ingressStatusController(
  context: IngressContext,
  classes: ClassTable,
  routesByFamily: RoutesByFamily,
  departures: Departures,
): Controller {
  const { client, informers, recorder } = context;
  const ingresses = informers.for(INGRESSES);
  const routers = informers.for(L7_ROUTERS);
  const servedBy = new ServedBy(routers);
  const applier = new Applier(client, INGRESS_FIELD_MANAGER);
  /** Ingresses by the router that has not reported yet that it serves them. */
  const waiting = new SetsByKey();

  async function reconcile(key: string, signal: AbortSignal): Promise<void> {
    const ingress = ingresses.cache.get(key);
    if (ingress === undefined) return;
    const className = classNameOf(ingress) ?? '';
    const family = classes.familyOf(className);
    // With server-side apply, an empty status removes only the fields that Tidegate owns.
    if (family === undefined) return hasOurs(ingress) ? write(ingress, {}, signal) : undefined;
    const outcome = routesByFamily.get(family.key)?.outcomeOf(key);
    // The class has changed its family a moment ago. The addresses stay until its routes are known, which enqueues this again.
    if (outcome === undefined) return;
    const listed = (ingress.status?.loadBalancer?.ingress ?? []) as RouterAddress[];
    const { addresses, awaited } = servedBy.of({
      className,
      family,
      hosts: outcome.hosts,
      listed,
    });
    for (const router of awaited) waiting.add(router, key);
    const wanted = addresses.length > 0 ? addresses : stillListed(key, listed);
    if (isDeepStrictEqual(listed, wanted)) return;
    return write(ingress, { loadBalancer: { ingress: wanted } }, signal);
  }

  /** An Ingress that has changed its class keeps the addresses of its old routers until the new ones serve it. */
  function stillListed(key: string, listed: readonly RouterAddress[]): RouterAddress[] {
    const served = new Set(servedBy.departed(key).map((address) => JSON.stringify(address)));
    // The routers of the old class are about to be written.
    if (departures.familiesOf(key).length > 0 && served.size === 0) return [...listed];
    return listed.filter((address) => served.has(JSON.stringify(address)));
  }

  async function write(
    { apiVersion, kind, metadata: { name, namespace } }: Ingress,
    status: object,
    signal: AbortSignal,
  ): Promise<void> {
    const object = { apiVersion, kind, metadata: { name, namespace }, status };
    try {
      await applier.applyStatus(object, { resource: INGRESSES, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  const controller = new Controller({ ...context, name: 'ingress-status', reconcile, concurrency: 8 }).watch(
    ingresses,
    undefined,
    (old, ingress) =>
      classNameOf(old) !== classNameOf(ingress) || !isDeepStrictEqual(old.status, ingress.status),
  );

  /** A router with thousands of hosts changes often: only the Ingresses of hosts that changed are enqueued. */
  const enqueueHosts = (router: L7Router, hosts: Iterable<HostName>): void => {
    const families = new Set(classesOf(router).flatMap((name) => classes.familyOf(name)?.key ?? []));
    for (const family of families) {
      const routes = routesByFamily.get(family);
      for (const host of hosts) for (const key of routes?.ingressesOf(host) ?? []) controller.enqueue(key);
    }
  };
  const enqueueAll = (router: L7Router): void => {
    for (const name of classesOf(router)) {
      const routes = routesByFamily.get(classes.familyOf(name)?.key ?? '');
      for (const { ingress } of routes?.outcomes ?? []) controller.enqueue(ingress);
    }
  };
  /** Hosts that a load balancer does not serve: their Ingresses get an event, and lose or get its address. */
  const reportFailed = (old: L7Router, router: L7Router): void => {
    const [before, after] = [failedOf(old), failedOf(router)];
    if (isDeepStrictEqual(before, after)) return;
    enqueueHosts(router, new Set([...before.keys(), ...after.keys()]));
    for (const [host, { reason, message }] of after) {
      if (before.get(host)?.message === message) continue;
      const families = new Set(classesOf(router).flatMap((name) => classes.familyOf(name)?.key ?? []));
      for (const family of families) {
        for (const key of routesByFamily.get(family)?.ingressesOf(host) ?? []) {
          const ingress = ingresses.cache.get(key);
          if (ingress !== undefined) recorder.warning(ingress, reason, message);
        }
      }
    }
  };
  routers.addHandler({
    onAdd: enqueueAll,
    onUpdate: (old, router) => {
      const name = `${router.metadata.name}`;
      reportFailed(old, router);
      if (
        !isDeepStrictEqual(old.status?.addresses, router.status?.addresses) ||
        isBeingDeleted(old) !== isBeingDeleted(router)
      )
        enqueueAll(router);
      else if (old.metadata.generation !== router.metadata.generation) {
        enqueueHosts(router, changedHosts(old, router));
        for (const key of old.spec.departing ?? []) controller.enqueue(key);
      }
      if (!isServing(router)) return;
      for (const key of [...waiting.get(name)]) {
        waiting.delete(name, key);
        controller.enqueue(key);
      }
    },
    onDelete: enqueueAll,
  });
  // An Ingress whose class no longer belongs to Tidegate loses its addresses.
  classes.onChange(() => {
    for (const ingress of ingresses.cache.list()) if (hasOurs(ingress)) controller.enqueue(keyOf(ingress));
  });
  return controller;
}

/** Whether Tidegate owns fields of the status. The cache keeps only Tidegate's own entries of managedFields. */
const hasOurs = ({ metadata }: Ingress): boolean =>
  metadata.managedFields?.some(
    ({ manager, subresource }) => manager === INGRESS_FIELD_MANAGER && subresource === 'status',
  ) ?? false;

const failedOf = ({ status }: L7Router): ReadonlyMap<HostName, RouterFailedHost> =>
  new Map((status?.failedHosts ?? []).map((each) => [each.host, each]));

/** Hosts that were added, removed, or started or stopped to leave. */
function changedHosts(old: L7Router, router: L7Router): Set<HostName> {
  const state = ({ spec }: L7Router): Map<HostName, boolean> => {
    const leaving = new Set(spec.leaving);
    return new Map((spec.hosts ?? []).map((host) => [host, leaving.has(host)]));
  };
  const [before, after] = [state(old), state(router)];
  return new Set([...before.keys(), ...after.keys()].filter((host) => before.get(host) !== after.get(host)));
}
