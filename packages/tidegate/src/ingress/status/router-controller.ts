import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  type Condition,
  Controller,
  type Deployment,
  getCondition,
  isConflict,
  isNotFound,
  NODES,
  type Node,
  type Pod,
  type ReconcileResult,
  type Service,
} from '@tidegate/kube';
import {
  INGRESS_FIELD_MANAGER,
  L7_ROUTERS,
  type L7Router,
  type L7RouterStatus,
  type RouterProblem,
} from '../../api/index.ts';
import { type ClassTable, isOwnProgram, isWorkloadDriver } from '../classes/index.ts';
import type { IngressContext } from '../context.ts';
import type { FamilyRoutes, RoutesByFamily } from '../host-placement/index.ts';
import { isMadeFrom, type Made, workloadName, workloadOf } from '../provision/index.ts';
import { addressesOf } from './addresses.ts';
import { type Rollout, rolloutOf } from './rollout.ts';
import { isReady, RouterPods, routerOf } from './router-pods.ts';
import { type RouterView, routerStatus } from './router-status.ts';

/** Hosts and rules may change by the thousand: the status of one router is written so often at most. */
const STATUS_PACE_MS = 500;
/** A pod may have told before we have seen it. */
const KEEP_AGENT_MS = 60_000;

export interface RouterStatusParts {
  readonly classes: ClassTable;
  readonly routesByFamily: RoutesByFamily;
  readonly made: Made;
  /** Why a workload could not be made, by the name of the router. */
  readonly provisionProblems: ReadonlyMap<string, string>;
}

/** Tells in the status of each L7Router where it is reached, what it serves, and how it does. */
export function routerStatusController(context: IngressContext, parts: RouterStatusParts): Controller {
  const { client, informers, recorder, clock, routerImage } = context;
  const { classes, routesByFamily, made, provisionProblems } = parts;
  const routers = informers.for(L7_ROUTERS);
  const nodes = informers.for(NODES);
  const pods = new RouterPods(informers);
  const applier = new Applier(client, INGRESS_FIELD_MANAGER);
  const writtenAt = new Map<string, number>();

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const router = routers.cache.get(name);
    if (router === undefined || !isWorkloadDriver(router.spec.driver)) {
      writtenAt.delete(name);
      return;
    }
    const status = routerStatus(router, viewOf(router), clock.now());
    const isNew = !isWritten(router.status, status);
    const keep = agentsToKeep(router);
    if (!isNew && keep === undefined) return;
    // What others wait for is told at once.
    const isAwaited =
      router.status?.appliedGeneration !== status.appliedGeneration || isTurned(router, status);
    const wait = isAwaited
      ? 0
      : (writtenAt.get(name) ?? -STATUS_PACE_MS) + STATUS_PACE_MS - clock.monotonic();
    if (wait > 0) return { requeueAfter: wait };
    writtenAt.set(name, clock.monotonic());
    try {
      if (isNew) await applyStatus(router, status, signal);
      if (keep !== undefined) await dropAgents(router, keep, signal);
    } catch (error) {
      // Whoever changed it brings us here again.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  async function applyStatus(router: L7Router, status: L7RouterStatus, signal: AbortSignal): Promise<void> {
    const { apiVersion, kind, metadata } = router;
    const object = { apiVersion, kind, metadata: { name: metadata.name }, status };
    await applier.applyStatus(object, { resource: L7_ROUTERS, signal });
    const is = readyOf(status);
    if (!isTurned(router, status) || is === undefined) return;
    if (is.status === 'True') recorder.normal(router, is.reason, is.message);
    // One that has just been made is not ready, and that is nothing to worry about.
    else if (readyOf(router.status) !== undefined) recorder.warning(router, is.reason, is.message);
  }

  function viewOf(router: L7Router): RouterView {
    const name = `${router.metadata.name}`;
    const { namespace, replicas } = workloadOf(router);
    const all = pods.of(name);
    const ready = all.filter(isReady);
    const onNodes = ready.flatMap(({ spec }) => nodes.cache.get(spec?.nodeName ?? '') ?? []);
    const key = `${namespace}/${workloadName(name)}`;
    const service = made.get<Service>('Service', key);
    const family = classes.familyOf(router.spec.ingressClassName);
    const routes = routesByFamily.get(family?.key ?? '');
    const provisionProblem = provisionProblems.get(name);
    return {
      // A router that is away for a moment is still expected where it was.
      addresses: ready.length > 0 ? addressesOf(service, onNodes) : (router.status?.addresses ?? []),
      ...contentOf(router, routes),
      readyPods: ready.map(({ metadata }) => `${metadata.name}`),
      replicas,
      rollout: rolloutFor(router, key, all),
      ...(provisionProblem !== undefined && { provisionProblem }),
      ...(isOwnProgram(router.spec.driver) &&
        family?.settings === undefined && {
          classProblem: `IngressClass ${router.spec.ingressClassName} is not there, or can not be understood: the router goes on as it is; kubectl describe ingressclass ${router.spec.ingressClassName} says more`,
        }),
    };
  }

  function rolloutFor(router: L7Router, key: string, all: readonly Pod[]): Rollout {
    const problem = provisionProblems.get(`${router.metadata.name}`);
    if (problem !== undefined) return { done: false, reason: 'NotProvisioned', message: problem };
    const deployment = made.get<Deployment>('Deployment', key);
    // What it says now is about what was asked for before.
    if (deployment !== undefined && !isMadeFrom(deployment, router, routerImage)) {
      return { done: false, reason: 'Progressing', message: 'its Deployment is about to be changed' };
    }
    return rolloutOf(deployment, all);
  }

  /** Undefined when none is to be dropped. */
  function agentsToKeep({ status }: L7Router): L7RouterStatus['agents'] | undefined {
    const agents = status?.agents ?? [];
    const running = new Set(pods.informer.cache.list().map(({ metadata }) => `${metadata.name}`));
    const keep = agents.filter(
      ({ name, time }) => running.has(name) || clock.now() - Date.parse(time ?? '') < KEEP_AGENT_MS,
    );
    return keep.length === agents.length ? undefined : keep;
  }

  /** Each entry belongs to the pod that wrote it, and is gone only when somebody else writes the list without it. */
  async function dropAgents(
    { metadata: { name = '' } }: L7Router,
    agents: L7RouterStatus['agents'],
    signal: AbortSignal,
  ): Promise<void> {
    const { metadata } = await client.get(L7_ROUTERS, { name }, { signal });
    const patch = { metadata: { resourceVersion: metadata.resourceVersion }, status: { agents } };
    await client.patch(L7_ROUTERS, { name, subresource: 'status' }, 'merge', patch, {
      fieldManager: INGRESS_FIELD_MANAGER,
      signal,
    });
  }

  const controller = new Controller({ ...context, name: 'ingress-router-status', reconcile, concurrency: 4 })
    .watch(routers)
    .watch(pods.informer, (pod) => [routerOf(pod)])
    .watch(nodes, routersOn, (old, node) => !isDeepStrictEqual(addressesIn(old), addressesIn(node)));
  made.watchedBy(controller, ['Service', 'Deployment']);
  classes.onChange(() => {
    for (const router of routers.cache.list()) controller.enqueue(`${router.metadata.name}`);
  });
  return controller;

  function routersOn({ metadata }: Node): string[] {
    return pods.on(`${metadata.name}`).map(routerOf);
  }
}

/** What the router has of the family's routes. */
function contentOf(
  { spec }: L7Router,
  routes: FamilyRoutes | undefined,
): Pick<RouterView, 'hosts' | 'rules' | 'problems'> {
  if (routes === undefined) return { hosts: 0, rules: 0, problems: [] };
  const named = [...(spec.hosts ?? routes.rules.keys())].filter(
    (host) => host !== '' && routes.rules.has(host),
  );
  const all = [...named, ''];
  const ingresses =
    spec.hosts === undefined
      ? [...routes.outcomes].map(({ ingress }) => ingress)
      : new Set(all.flatMap((host) => [...routes.ingressesOf(host)]));
  const problems: RouterProblem[] = [...ingresses].toSorted().flatMap((ingress) =>
    (routes.outcomeOf(ingress)?.problems ?? []).map(({ reason, field, message }) => ({
      ingress,
      reason,
      message: `${field}: ${message}`,
    })),
  );
  return {
    hosts: named.length,
    rules: all.reduce((sum, host) => sum + (routes.rules.get(host) ?? 0), 0),
    problems,
  };
}

const addressesIn = ({ status }: Node): unknown => status?.addresses;

const readyOf = (status: L7RouterStatus | undefined): Condition | undefined =>
  getCondition(status?.conditions as Condition[] | undefined, 'Ready');

const isTurned = ({ status: old }: L7Router, status: L7RouterStatus): boolean =>
  readyOf(old)?.status !== readyOf(status)?.status;

/** But for what agents and others have in it. */
function isWritten(old: L7RouterStatus | undefined, status: L7RouterStatus): boolean {
  const { conditions = [], ...fields } = status;
  const of = (conditions: unknown, type: string): unknown => getCondition(conditions as Condition[], type);
  return (
    old !== undefined &&
    old.appliedGeneration === status.appliedGeneration &&
    conditions.every((condition) => isDeepStrictEqual(of(old.conditions, condition.type), condition)) &&
    Object.entries(fields).every(([field, value]) =>
      isDeepStrictEqual(old[field as keyof L7RouterStatus], value),
    )
  );
}
