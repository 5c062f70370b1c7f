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
import type { FamilyPlacements } from './family-placements.ts';
import type { FamilyRoutes } from './family-routes.ts';
import { allocate } from './fixed-addresses.ts';
import { IncompleteIngresses } from './incomplete-ingresses.ts';
import { NewestRouters } from './newest-routers.ts';
import type { Placement, PlannedRouter } from './placement.ts';
import {
  asPlaced,
  compareNames,
  isAsWritten,
  isServing,
  placedFamilyOf,
  routerName,
  routerObject,
  versionOf,
} from './router-object.ts';
import type { RoutesByFamily } from './routes-by-family.ts';

/** Called when the status of Ingresses or routers may have changed. The status controllers implement it. */
export interface RouteListener {
  /** The outcome of the Ingress has changed: the hosts that are served, or its problems. */
  ingress(key: string): void;
  /** The hosts, rules or problems of the routers of a family have changed. */
  family(key: string): void;
  /** A router that is being deleted may be removed now. */
  drained(router: string): void;
}

/**
 * Compiles the pending changes of a family, and creates, updates and deletes its L7Routers so that each host is on one
 * router. The key is the key of a family.
 */
export function hostPlacementController(
  context: IngressContext,
  classes: ClassTable,
  routesByFamily: RoutesByFamily,
  placements: FamilyPlacements,
  listener: RouteListener,
): Controller {
  const { client, informers, recorder, clock } = context;
  const ingresses = informers.for(INGRESSES);
  const routers = informers.for(L7_ROUTERS);
  const newest = new NewestRouters(routers);
  const applier = new Applier(client, INGRESS_FIELD_MANAGER);
  /** Families that need a new plan. A failed write leaves the family in the set, so that the retry plans again. */
  const toPlan = new Set<string>();
  /** Routers that the classes of their family have left, with the time since which others serve their hosts. */
  const leftSince = new Map<string, number>();
  /** By family: Ingresses whose outcome has changed, and those whose hosts are not all claimed yet. */
  const changed = new Map<string, Set<string>>();
  const incomplete = new Map<string, IncompleteIngresses>();
  /** The classes and settings that the routers of each family were last written with. */
  const writtenFrom = new Map<string, string>();

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const routes = routesByFamily.get(key);
    if (routes !== undefined && flush(key, routes)) toPlan.add(key);
    const wait = routes === undefined ? 0 : waitFor(key, routes);
    if (wait > 0) return { requeueAfter: wait };
    if (!toPlan.delete(key)) return;
    try {
      const wakeAt = await place(key, routes, signal);
      if (wakeAt === undefined) return;
      toPlan.add(key);
      return { requeueAfter: Math.max(1, wakeAt - clock.monotonic()) };
    } catch (error) {
      toPlan.add(key);
      // What was not written is in the state of the placement. The next plan starts from the routers.
      placements.forget(key);
      throw error;
    }
  }

  function waitFor(key: string, routes: FamilyRoutes): number {
    const known = incomplete.get(key) ?? new IncompleteIngresses(ingresses.cache, clock);
    incomplete.set(key, known);
    const wait = known.waitMs(routes, changed.get(key) ?? []);
    changed.delete(key);
    return wait;
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
    changed.set(key, new Set([...(changed.get(key) ?? []), ...changes.ingresses]));
    for (const ingress of changes.ingresses) listener.ingress(ingress);
    if (changes.hosts.size > 0 || changes.ingresses.size > 0) listener.family(key);
    return placements.note(key, routes, changes);
  }

  /** Returns when to plan again, if nothing changes before. */
  async function place(
    key: string,
    routes: FamilyRoutes | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const family = classes.families.get(key);
    const all = newest.list().filter((router) => placedFamilyOf(router) === key);
    const own = all.filter((router) => router.spec.driver === family?.driver);
    // Claims are on their way: the routers of the family are needed in a moment, so they stay until the next plan.
    if (family !== undefined && routes?.isExpecting === true) {
      toPlan.add(key);
      return undefined;
    }
    // A family without hosts needs no routers, even if the parameters of its class are invalid.
    if (family === undefined || routes?.rules.size === 0) {
      placements.clear(key);
      return removeLeft(all, signal);
    }
    if (family.settings === undefined || routes === undefined || hasRouterForAllHosts(family))
      return undefined;
    const wakeAt = await write(family, family.settings, routes, own, signal);
    return earliest([
      wakeAt,
      await removeLeft(
        all.filter((router) => !own.includes(router)),
        signal,
      ),
    ]);
  }

  /** Removes routers that no class of their family needs. Returns when the next one can be removed. */
  async function removeLeft(left: readonly L7Router[], signal: AbortSignal): Promise<number | undefined> {
    const waits: (number | undefined)[] = [];
    for (const router of left) {
      if (isBeingDeleted(router)) {
        listener.drained(`${router.metadata.name}`);
        continue;
      }
      const neededUntil = lastNeeded(router);
      if (neededUntil === undefined) await remove(router, signal);
      else waits.push(neededUntil);
    }
    return earliest(waits);
  }

  /**
   * A class that starts to share an address, or changes its provisioner, moves to other routers. The old router stays until
   * all new ones serve, and the drain time is over (make before break). Undefined if it is not needed any more.
   */
  function lastNeeded({ spec, metadata }: L7Router): number | undefined {
    const name = `${metadata.name}`;
    const family = classes.familyOf(spec.ingressClassName);
    const routes = routesByFamily.get(family?.key ?? '');
    // Changes of the new family may be pending. Without this flush it could seem to have no hosts.
    if (family !== undefined && routes !== undefined && flush(family.key, routes)) toPlan.add(family.key);
    if (family === undefined || routes === undefined || routes.rules.size === 0) return undefined;
    const successors = newest
      .list()
      .filter((each) => placedFamilyOf(each) === family.key && each.spec.driver === family.driver);
    if (successors.some((each) => each.metadata.name === name)) return undefined;
    if (successors.length === 0 || !successors.every(isServing)) {
      leftSince.delete(name);
      return Number.POSITIVE_INFINITY;
    }
    const now = clock.monotonic();
    const since = leftSince.get(name) ?? now;
    leftSince.set(name, since);
    const end = since + (family.settings?.drainMs ?? 0);
    return end > now ? end : undefined;
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
  ): Promise<number | undefined> {
    const placement = placements.of(family.key, routes);
    const refusedBefore = new Map(placement.refused);
    const drifted = own.filter(
      (router) => !placement.isCurrent(`${router.metadata.name}`, versionOf(router)),
    );
    const plan = placement.plan({
      limits: settings.capacity,
      rulesForAll: routes.rules.get('') ?? 0,
      routers: own.map((router) => asPlaced(router)).sort(compareNames),
      drainMs: settings.drainMs,
      now: clock.monotonic(),
      compareAge: byAgeIn(routes),
      newName: namesFor(family),
    });
    const known = new Map(own.map((router) => [`${router.metadata.name}`, router]));
    const source = JSON.stringify([family.classNames, settings]);
    const isNew = writtenFrom.get(family.key) !== source || Object.keys(settings.fixed).length > 0;
    const others = isNew ? own : drifted;
    writtenFrom.delete(family.key);
    for (const object of objectsOf(plan.routers, others, known, family, settings)) {
      const name = `${object.metadata.name}`;
      const before = known.get(name);
      if (!isAsWritten(before, object)) {
        const written = await applier.apply(object, { resource: L7_ROUTERS, signal });
        newest.wrote(written);
        known.set(name, written);
      }
      placement.wrote(name, versionOf(known.get(name)!));
    }
    writtenFrom.set(family.key, source);
    for (const name of plan.remove) await remove(known.get(name)!, signal);
    for (const router of own) if (isBeingDeleted(router)) listener.drained(`${router.metadata.name}`);
    reportRefused(routes, placement, refusedBefore, family.key);
    return plan.wakeAt;
  }

  /** The routers to write: those whose hosts have changed, and `others`. New ones come first. */
  function objectsOf(
    planned: readonly PlannedRouter[],
    others: readonly L7Router[],
    known: ReadonlyMap<string, L7Router>,
    family: Family,
    settings: ClassSettings,
  ): L7Router[] {
    const lists = new Map<string, PlannedRouter>();
    for (const router of others)
      if (!isBeingDeleted(router)) lists.set(`${router.metadata.name}`, asPlaced(router));
    for (const each of planned) lists.set(each.name, each);
    const siblings = [...new Set([...known.keys(), ...lists.keys()])]
      .map((name) => ({ name, workload: known.get(name)?.spec.workload }))
      .sort(compareNames);
    const allocated = allocate(settings.fixed, siblings);
    return [...lists.values()]
      .sort((a, b) => Number(known.has(a.name)) - Number(known.has(b.name)) || compareNames(a, b))
      .map((each) => routerObject(each, family, settings, allocated.get(each.name) ?? {}));
  }

  /** Hosts that no router can take: their Ingresses get an event, and the routers of the family a condition. */
  function reportRefused(
    routes: FamilyRoutes,
    { refused }: Placement,
    before: ReadonlyMap<HostName, string>,
    key: string,
  ): void {
    for (const [host, message] of refused) {
      if (before.get(host) === message) continue;
      for (const ingress of routes.ingressesOf(host)) {
        const subject = ingresses.cache.get(ingress);
        if (subject !== undefined) recorder.warning(subject, 'CapacityExceeded', `Host ${host}: ${message}`);
      }
    }
    if (before.size > 0 || refused.size > 0) listener.family(key);
  }

  /** Hosts in the order in which their Ingresses were created. */
  function byAgeIn(routes: FamilyRoutes): (a: HostName, b: HostName) => number {
    const ageOf = (host: HostName): string =>
      ingresses.cache.get(routes.ingressOf(host) ?? '')?.metadata.creationTimestamp ?? '';
    return (a, b) => compareText(ageOf(a), ageOf(b)) || compareText(a, b);
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
    leftSince.delete(name);
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

/** The earliest of some times, without those that never come. */
function earliest(times: readonly (number | undefined)[]): number | undefined {
  const finite = times.filter((time): time is number => time !== undefined && Number.isFinite(time));
  return finite.length === 0 ? undefined : Math.min(...finite);
}
