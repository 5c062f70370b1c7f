import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  Controller,
  INGRESSES,
  isBeingDeleted,
  isNotFound,
  type ReconcileResult,
} from '@tidegate/kube';
import { INGRESS_FIELD_MANAGER, L7_ROUTERS, type L7Router } from '../../api/index.ts';
import { type ClassTable, classesOf, type Family } from '../classes/index.ts';
import type { ClassSettings } from '../classes/settings.ts';
import type { IngressContext } from '../context.ts';
import type { HostName } from '../model.ts';
import type { FamilyRoutes } from './family-routes.ts';
import { allocate } from './fixed-addresses.ts';
import { NewestRouters } from './newest-routers.ts';
import { planHostPlacement } from './plan.ts';
import { compareNames, isServing, placedFamilyOf, routerName, routerObject } from './router-object.ts';
import type { RoutesByFamily } from './routes-by-family.ts';

/** Called when the status of Ingresses or routers may have changed. The status controllers implement it. */
export interface RouteListener {
  /** The outcome of the Ingress has changed: the hosts that are served, or its problems. */
  ingress(key: string): void;
  /** The hosts, rules or problems of the routers of a family have changed. */
  family(key: string): void;
}

/**
 * Compiles the pending changes of a family, and creates, updates and deletes its L7Routers so that each host is on one
 * router. The key is the key of a family. Planning reads all hosts of a family, so it only runs when the hosts, the
 * routers or the class have changed (`toPlan`), and not for each change of an Ingress.
 */
export function hostPlacementController(
  context: IngressContext,
  classes: ClassTable,
  routesByFamily: RoutesByFamily,
  listener: RouteListener,
): Controller {
  const { client, informers, recorder } = context;
  const ingresses = informers.for(INGRESSES);
  const routers = informers.for(L7_ROUTERS);
  const newest = new NewestRouters(routers);
  const applier = new Applier(client, INGRESS_FIELD_MANAGER);
  /** Families that need a new plan. A failed write leaves the family in the set, so that the retry plans again. */
  const toPlan = new Set<string>();

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const routes = routesByFamily.get(key);
    if (routes !== undefined && flush(key, routes)) toPlan.add(key);
    if (!toPlan.delete(key)) return;
    try {
      await place(key, routes, signal);
    } catch (error) {
      toPlan.add(key);
      throw error;
    }
  }

  /**
   * Compiles pending changes and notifies listeners. Returns true if hosts, or their numbers of rules, have changed.
   */
  function flush(key: string, routes: FamilyRoutes): boolean {
    const changes = routes.flush();
    for (const { ingress, problem } of changes.problems) {
      const subject = ingresses.cache.get(ingress);
      if (subject !== undefined)
        recorder.warning(subject, problem.reason, `${problem.field}: ${problem.message}`);
    }
    for (const ingress of changes.ingresses) listener.ingress(ingress);
    if (changes.hosts || changes.ingresses.size > 0) listener.family(key);
    return changes.hosts;
  }

  async function place(key: string, routes: FamilyRoutes | undefined, signal: AbortSignal): Promise<void> {
    const family = classes.families.get(key);
    const own = newest.list().filter((router) => placedFamilyOf(router) === key);
    // Claims are on their way: the routers of the family are needed in a moment, so they stay until the next plan.
    if (family !== undefined && routes?.isExpecting === true) {
      toPlan.add(key);
      return;
    }
    // A family without hosts needs no routers, even if the parameters of its class are invalid.
    if (family === undefined || routes?.rules.size === 0) {
      for (const router of own) if (!isStillNeeded(router)) await remove(router, signal);
    } else if (family.settings !== undefined && routes !== undefined && !hasRouterForAllHosts(family)) {
      await write(family, family.settings, routes, own, signal);
    }
  }

  /**
   * A class that starts to share an address moves to another family, and the family of this router has no class any
   * more. The router stays until all routers of the new family serve, so that its hosts are served at all times
   * (make before break).
   */
  function isStillNeeded(router: L7Router): boolean {
    const family = classes.familyOf(router.spec.ingressClassName);
    if (family === undefined || family.key === placedFamilyOf(router)) return false;
    const routes = routesByFamily.get(family.key);
    // Changes of the new family may be pending. Without this flush it could seem to have no hosts.
    if (routes !== undefined && flush(family.key, routes)) toPlan.add(family.key);
    const successors = newest.list().filter((each) => placedFamilyOf(each) === family.key);
    const isAwaited = routes !== undefined && routes.rules.size > 0;
    return isAwaited && (successors.length === 0 || !successors.every(isServing));
  }

  /** Families that have routers but no class any more. */
  const familiesWithoutClass = (): string[] =>
    routers.cache
      .list()
      .flatMap((router) => placedFamilyOf(router) ?? [])
      .filter((key) => !classes.families.has(key));

  /**
   * A router without `spec.hosts` serves all hosts of its class. A user or a YurtIngress created it, and then hosts of
   * the class are not placed.
   */
  const hasRouterForAllHosts = ({ classNames }: Family): boolean =>
    routers.cache
      .list()
      .some((router) => router.spec.hosts === undefined && classNames.includes(router.spec.ingressClassName));

  /**
   * Writes the plan. New routers come first, then existing routers, then deletions: a host that moves is added to its
   * new router before it is removed from the old one, also if a write in between fails.
   */
  async function write(
    family: Family,
    settings: ClassSettings,
    routes: FamilyRoutes,
    own: readonly L7Router[],
    signal: AbortSignal,
  ): Promise<void> {
    const plan = planHostPlacement({
      hosts: oldestFirst(routes),
      rulesForAll: routes.rules.get('') ?? 0,
      capacity: settings.capacity,
      routers: own.map(asPlaced).sort(compareNames),
      newName: namesFor(family),
    });
    const known = new Map(own.map((router) => [`${router.metadata.name}`, router]));
    const newFirst = plan.routers.toSorted(
      (a, b) => Number(known.has(a.name)) - Number(known.has(b.name)) || compareNames(a, b),
    );
    const siblings = plan.routers.toSorted(compareNames).map(({ name }) => ({
      name,
      workload: known.get(name)?.spec.workload,
    }));
    const allocated = allocate(settings.fixed, siblings);
    for (const planned of newFirst) {
      const object = routerObject(planned, family, settings, allocated.get(planned.name) ?? {});
      if (isAsWritten(known.get(planned.name), object)) continue;
      newest.wrote(await applier.apply(object, { resource: L7_ROUTERS, signal }));
    }
    for (const name of plan.remove) await remove(known.get(name)!, signal);
  }

  /** Hosts in the order in which their Ingresses were created, so that equal clusters get equal plans. */
  function oldestFirst(routes: FamilyRoutes): Map<HostName, number> {
    const ageOf = (host: HostName): string =>
      ingresses.cache.get(routes.ingressOf(host) ?? '')?.metadata.creationTimestamp ?? '';
    const hosts = [...routes.rules].flatMap(([host, rules]) =>
      host === '' ? [] : [{ host, rules, created: ageOf(host) }],
    );
    hosts.sort((a, b) => compareText(a.created, b.created) || compareText(a.host, b.host));
    return new Map(hosts.map(({ host, rules }) => [host, rules]));
  }

  /** Returns a generator of unused router names: `gold`, `gold-2`, `gold-3`. */
  function namesFor({ name }: Family): () => string {
    let number = 0;
    return () => {
      do number++;
      while (newest.get(routerName(name, number)) !== undefined);
      return routerName(name, number);
    };
  }

  async function remove(router: L7Router, signal: AbortSignal): Promise<void> {
    if (isBeingDeleted(router)) return;
    const { name = '', uid } = router.metadata;
    try {
      const left = await client.delete(L7_ROUTERS, { name }, { preconditions: { uid }, signal });
      if ('spec' in left) newest.wrote(left);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  const controller = new Controller({ ...context, name: 'ingress-placement', reconcile, concurrency: 1 });
  const plan = (key: string): void => {
    toPlan.add(key);
    controller.enqueue(key);
  };
  controller.watch(
    routers,
    (router) => {
      const keys = new Set(classesOf(router).flatMap((name) => classes.familyOf(name)?.key ?? []));
      const placed = placedFamilyOf(router);
      if (placed !== undefined) keys.add(placed);
      for (const key of familiesWithoutClass()) keys.add(key);
      for (const key of keys) toPlan.add(key);
      return keys;
    },
    (old, router) =>
      old.metadata.generation !== router.metadata.generation ||
      isBeingDeleted(old) !== isBeingDeleted(router) ||
      isServing(old) !== isServing(router),
  );
  classes.onChange(plan);
  routesByFamily.listen({
    touched: (key) => controller.enqueue(key),
    forgot: (ingress) => listener.ingress(ingress),
  });
  return controller;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a !== b));

const asPlaced = (router: L7Router) => ({
  name: `${router.metadata.name}`,
  hosts: router.spec.hosts ?? [],
  leaving: router.spec.leaving ?? [],
  serving: isServing(router),
  deleting: isBeingDeleted(router),
});

const isAsWritten = (router: L7Router | undefined, object: L7Router): boolean =>
  router !== undefined &&
  isDeepStrictEqual(router.spec, object.spec) &&
  (object.metadata.finalizers ?? []).every((finalizer) => router.metadata.finalizers?.includes(finalizer));
