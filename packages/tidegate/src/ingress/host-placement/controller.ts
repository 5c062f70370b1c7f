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
import { NewestRouters } from './newest-routers.ts';
import { planPlacement } from './plan.ts';
import { compareNames, isServing, placedFamilyOf, routerName, routerObject } from './router-object.ts';
import type { RoutesByFamily } from './routes-by-family.ts';

/** Who tells people about it. */
export interface RouteListener {
  /** Something else is to be told of the Ingress than before. */
  ingress(key: string): void;
  /** Something else is to be told of the routers of the family. */
  family(key: string): void;
}

/** Compiles what is new of a family, and keeps its L7Routers as its hosts need them. */
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
  /** Families whose routers may have to be others. */
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

  /** Tells of what is new. True when there are other hosts than before. */
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
    // Without hosts nobody needs a router, whatever the class asks for.
    if (family === undefined || routes?.rules.size === 0) {
      for (const router of own) if (!isStillNeeded(router)) await remove(router, signal);
    } else if (family.settings !== undefined && routes !== undefined && !isLedByOthers(family)) {
      await write(family, family.settings, routes, own, signal);
    }
  }

  /** Its class shares an address now: it stays until all routers there serve. */
  function isStillNeeded(router: L7Router): boolean {
    const family = classes.familyOf(router.spec.ingressClassName);
    if (family === undefined || family.key === placedFamilyOf(router)) return false;
    const routes = routesByFamily.get(family.key);
    // It may not have been looked at yet.
    if (routes !== undefined && flush(family.key, routes)) toPlan.add(family.key);
    const successors = newest.list().filter((each) => placedFamilyOf(each) === family.key);
    const isAwaited = routes !== undefined && routes.rules.size > 0;
    return isAwaited && (successors.length === 0 || !successors.every(isServing));
  }

  /** Families that are no more, but have routers. */
  const bereft = (): string[] =>
    routers.cache
      .list()
      .flatMap((router) => placedFamilyOf(router) ?? [])
      .filter((key) => !classes.families.has(key));

  /** Somebody has made a router for all hosts of the class: then there is nothing to be placed. */
  const isLedByOthers = ({ classNames }: Family): boolean =>
    routers.cache
      .list()
      .some((router) => router.spec.hosts === undefined && classNames.includes(router.spec.ingressClassName));

  /** First whoever gets something, then those who lose it. */
  async function write(
    family: Family,
    settings: ClassSettings,
    routes: FamilyRoutes,
    own: readonly L7Router[],
    signal: AbortSignal,
  ): Promise<void> {
    const plan = planPlacement({
      hosts: oldestFirst(routes),
      rulesForAll: routes.rules.get('') ?? 0,
      capacity: settings.capacity,
      routers: own.map(asPlaced).sort(compareNames),
      newName: namesFor(family),
    });
    const known = new Map(own.map((router) => [`${router.metadata.name}`, router]));
    const gains = plan.routers.toSorted(
      (a, b) => Number(known.has(a.name)) - Number(known.has(b.name)) || compareNames(a, b),
    );
    for (const planned of gains) {
      const object = routerObject(planned, family, settings);
      if (isAsWritten(known.get(planned.name), object)) continue;
      newest.wrote(await applier.apply(object, { resource: L7_ROUTERS, signal }));
    }
    for (const name of plan.remove) await remove(known.get(name)!, signal);
  }

  function oldestFirst(routes: FamilyRoutes): Map<HostName, number> {
    const ageOf = (host: HostName): string =>
      ingresses.cache.get(routes.ingressOf(host) ?? '')?.metadata.creationTimestamp ?? '';
    const hosts = [...routes.rules].flatMap(([host, rules]) =>
      host === '' ? [] : [{ host, rules, created: ageOf(host) }],
    );
    hosts.sort((a, b) => compareText(a.created, b.created) || compareText(a.host, b.host));
    return new Map(hosts.map(({ host, rules }) => [host, rules]));
  }

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
      for (const key of bereft()) keys.add(key);
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
