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
import { classesOf, type Family } from '../classes/index.ts';
import type { ClassSettings } from '../classes/settings.ts';
import type { IngressContext } from '../context.ts';
import type { HostName } from '../model.ts';
import { DrainRecorder } from './drain-recorder.ts';
import { drainsOf } from './drains.ts';
import { earliest } from './earliest.ts';
import { departedSince, departingFrom, endDepartures } from './end-departures.ts';
import type { FamilyRoutes } from './family-routes.ts';
import { IncompleteIngresses } from './incomplete-ingresses.ts';
import { NewestRouters } from './newest-routers.ts';
import type { PlacementParts, RouteListener } from './parts.ts';
import type { Placement } from './placement.ts';
import {
  asPlaced,
  compareNames,
  type DepartingSpec,
  departingIn,
  isAsWritten,
  isServing,
  lacksSection,
  placedFamilyOf,
  routerName,
  versionOf,
} from './router-object.ts';
import { routerObjects } from './router-objects.ts';
import { ServedBy } from './served-by.ts';

/** A router for which its shared pods had no section looks for one again after this time. */
const SECTION_RETRY_MS = 10_000;

/**
 * Compiles the pending changes of a family, and creates, updates and deletes its L7Routers so that each host is on one
 * router. The key is the key of a family.
 */
export function hostPlacementController(
  context: IngressContext,
  { classes, routesByFamily, placements, departures, provisioned }: PlacementParts,
  listener: RouteListener,
): Controller {
  const { client, informers, recorder, clock } = context;
  const ingresses = informers.for(INGRESSES);
  const routers = informers.for(L7_ROUTERS);
  const newest = new NewestRouters(routers);
  const applier = new Applier(client, INGRESS_FIELD_MANAGER);
  const recorderOfDrains = new DrainRecorder(client);
  const departing = {
    ingresses: ingresses.cache,
    classes,
    routesByFamily,
    departures,
    servedBy: new ServedBy(routers),
  };
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
    if (departures.of(key).size > 0) toPlan.add(key);
    const departed = endDepartures(key, clock.now(), departing);
    if (routes !== undefined && flush(key, routes)) toPlan.add(key);
    const wait = routes === undefined ? 0 : waitFor(key, routes);
    if (wait > 0) return { requeueAfter: wait };
    if (!toPlan.delete(key)) return;
    try {
      const wakeAt = earliest([await place(key, routes, signal), departed]);
      if (wakeAt === undefined) return;
      toPlan.add(key);
      return { requeueAfter: Math.max(1, wakeAt - clock.now()) };
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
    if (family.settings === undefined || routes === undefined) return undefined;
    if (hasRouterForAllHosts(family)) {
      placements.clear(key);
      for (const router of own) if (isBeingDeleted(router)) listener.drained(`${router.metadata.name}`);
      return undefined;
    }
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
      else {
        const all = leftSince.get(`${router.metadata.name}`);
        await recorderOfDrains.record(router, { ...drainsOf(router), all }, signal);
        waits.push(neededUntil);
      }
    }
    return earliest(waits);
  }

  /**
   * A class that starts to share an address, or changes its provisioner, moves to other routers. The old router stays until
   * all new ones serve, and the drain time is over (make before break). Undefined if it is not needed any more.
   */
  function lastNeeded(router: L7Router): number | undefined {
    const { spec, metadata } = router;
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
    const areServing = successors.length > 0 && successors.every(isServing);
    const now = clock.now();
    const known = leftSince.get(name) ?? drainsOf(router).all ?? (areServing ? now : undefined);
    if (known === undefined) return Number.POSITIVE_INFINITY;
    // The clock may have been set back since the time was recorded.
    const since = Math.min(known, now);
    leftSince.set(name, since);
    const end = since + (family.settings?.drainMs ?? 0);
    if (end > now) return end;
    // Other hosts of the new routers may have changed in this moment.
    return areServing ? undefined : Number.POSITIVE_INFINITY;
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
      now: clock.now(),
      compareAge: byAgeIn(routes),
      newName: namesFor(family),
    });
    const known = new Map(own.map((router) => [`${router.metadata.name}`, router]));
    const source = JSON.stringify([family.classNames, settings]);
    const isNew = writtenFrom.get(family.key) !== source || Object.keys(settings.fixed).length > 0;
    const others = isNew
      ? own
      : own.filter(
          (router) => drifted.includes(router) || isDepartureNew(router, family) || lacksSection(router),
        );
    writtenFrom.delete(family.key);
    const objects = routerObjects({
      planned: plan.routers,
      others,
      known,
      all: newest.list(),
      family,
      settings,
      departingOf: (hosts) => departingOf(hosts, family),
      sectionsLedTo: (sharedPods) => provisioned.sectionsLedTo(sharedPods),
    });
    for (const object of objects) {
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
    for (const name of plan.remove) {
      const left = await remove(known.get(name)!, signal);
      // The deletion is part of the plan. Without this, the next plan would adopt the hosts that have left.
      if (left !== undefined) placement.wrote(name, versionOf(left));
    }
    for (const router of known.values()) {
      const name = `${router.metadata.name}`;
      // The record of a router that is being removed stays. Otherwise its drain time would begin again after a restart.
      if (plan.remove.includes(name) || (isBeingDeleted(router) && !placement.isDraining(name))) continue;
      const drains = {
        hosts: placement.drainsOf(name),
        ingresses: departedSince(router, departures.of(family.key)),
      };
      await recorderOfDrains.record(router, drains, signal);
    }
    for (const router of own) if (isBeingDeleted(router)) listener.drained(`${router.metadata.name}`);
    reportRefused(routes, placement, refusedBefore, family.key);
    const isWaiting = [...known.values()].some(lacksSection);
    return earliest([plan.wakeAt, isWaiting ? clock.now() + SECTION_RETRY_MS : undefined]);
  }

  const departingOf = (hosts: readonly HostName[], { key }: Family): DepartingSpec =>
    departingFrom(key, hosts, departing);

  const isDepartureNew = ({ spec }: L7Router, family: Family): boolean =>
    !isDeepStrictEqual(departingIn(spec), { ...departingIn({}), ...departingOf(spec.hosts ?? [], family) });

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

  /** Returns the router if it stays until its finalizers are removed. */
  async function remove(router: L7Router, signal: AbortSignal): Promise<L7Router | undefined> {
    if (isBeingDeleted(router)) return undefined;
    const { name = '', uid } = router.metadata;
    leftSince.delete(name);
    try {
      const left = await client.delete(L7_ROUTERS, { name }, { preconditions: { uid }, signal });
      if (!('spec' in left)) return undefined;
      newest.wrote(left);
      return left;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return undefined;
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
      // Ingresses that have left other families may be served by this router now.
      for (const key of departures.families) keys.add(key);
      for (const key of keys) toPlan.add(key);
      return keys;
    },
    (old, router) =>
      old.metadata.generation !== router.metadata.generation ||
      isBeingDeleted(old) !== isBeingDeleted(router) ||
      isServing(old) !== isServing(router),
  );
  classes.onChange((key) => {
    // Routers that the class has left depend on its drain time.
    for (const each of new Set([key, ...familiesWithoutClass()])) plan(each);
  });
  routesByFamily.listen({
    touched: (key) => controller.enqueue(key),
    forgot: (ingress) => listener.ingress(ingress),
    departed: plan,
  });
  return controller;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a !== b));
