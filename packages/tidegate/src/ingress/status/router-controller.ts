import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  type Condition,
  Controller,
  type Deployment,
  getCondition,
  INGRESSES,
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
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  type RouterProblem,
} from '../../api/index.ts';
import { type ClassTable, classesOf, isOwnProgram, isWorkloadDriver } from '../classes/index.ts';
import type { IngressContext } from '../context.ts';
import type { FamilyPlacements, FamilyRoutes, RoutesByFamily } from '../host-placement/index.ts';
import type { RouterPrograms } from '../programming/index.ts';
import {
  addressesOf,
  type FreeNodes,
  isReady,
  type ProvisionedObjects,
  podsNameOf,
  type RouterPods,
  workloadName,
  workloadOf,
} from '../provision/index.ts';
import { isImplemented, type ProvisionerRegistry } from '../provisioners/index.ts';
import { externalStatus, managedStatus } from './managed-status.ts';
import { AnnouncedProblems, reportedProblems } from './reported-problems.ts';
import { type Rollout, rolloutOf } from './rollout.ts';
import { type ObservedRouter, type RouterContent, routerStatus, SEES_ALL_POOLS } from './router-status.ts';

/** Minimum interval between writes of the status of one router. Thousands of hosts can change at once. */
const STATUS_PACE_MS = 500;
/**
 * The entry of an agent is kept this long even if its pod is unknown: the informer may not have received the pod yet.
 */
const KEEP_AGENT_MS = 60_000;

export interface RouterStatusParts {
  readonly classes: ClassTable;
  readonly routesByFamily: RoutesByFamily;
  readonly provisioned: ProvisionedObjects;
  readonly pods: RouterPods;
  readonly freeNodes: FreeNodes;
  readonly registry: ProvisionerRegistry;
  readonly programs: RouterPrograms;
  readonly placements: FamilyPlacements;
}

/** Writes the status of each L7Router: addresses, hosts, problems and conditions. */
export function routerStatusController(context: IngressContext, parts: RouterStatusParts): Controller {
  const { client, informers, recorder, clock } = context;
  const { classes, routesByFamily, provisioned, pods, freeNodes, registry, programs, placements } = parts;
  const routers = informers.for(L7_ROUTERS);
  const nodes = informers.for(NODES);
  const applier = new Applier(client, INGRESS_FIELD_MANAGER);
  const writtenAt = new Map<string, number>();
  const ingresses = informers.for(INGRESSES);
  const announced = new AnnouncedProblems();

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const router = routers.cache.get(name);
    const status = router && statusOf(router);
    if (router === undefined || status === undefined) {
      writtenAt.delete(name);
      announced.forget(name);
      return;
    }
    for (const { ingress, reason, message } of announced.next(name, reportedBy(router))) {
      const subject = ingresses.cache.get(ingress);
      if (subject !== undefined) recorder.warning(subject, reason, message);
    }
    const isNew = !isWritten(router.status, status);
    const keep = agentsToKeep(router);
    if (!isNew && keep === undefined) return;
    // Placement and YurtIngress wait for these changes, so they are written without delay.
    const isAwaited =
      router.status?.appliedGeneration !== status.appliedGeneration || readyChanged(router, status);
    const wait = isAwaited
      ? 0
      : (writtenAt.get(name) ?? -STATUS_PACE_MS) + STATUS_PACE_MS - clock.monotonic();
    if (wait > 0) return { requeueAfter: wait };
    writtenAt.set(name, clock.monotonic());
    try {
      if (isNew) await applyStatus(router, status, signal);
      if (keep !== undefined) await dropAgents(router, keep, signal);
    } catch (error) {
      // The change that caused the conflict enqueues the router again.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /** Undefined if the router belongs to no known provisioner, or to one that has not answered yet. */
  function statusOf(router: L7Router): L7RouterStatus | undefined {
    const { driver } = router.spec;
    if (isWorkloadDriver(driver)) return routerStatus(router, observe(router), clock.now());
    const profile = registry.forDriver(driver);
    if (profile === undefined) return undefined;
    return isImplemented(profile)
      ? managedStatus(router, contentOf(router), programs.get(`${router.metadata.name}`), clock.now())
      : externalStatus(router, contentOf(router), clock.now());
  }

  async function applyStatus(router: L7Router, status: L7RouterStatus, signal: AbortSignal): Promise<void> {
    const { apiVersion, kind, metadata } = router;
    const object = { apiVersion, kind, metadata: { name: metadata.name }, status };
    await applier.applyStatus(object, { resource: L7_ROUTERS, signal });
    const is = readyOf(status);
    if (!readyChanged(router, status) || is === undefined) return;
    if (is.status === 'True') recorder.normal(router, is.reason, is.message);
    // A new router is not ready at first, which does not deserve a warning.
    else if (readyOf(router.status) !== undefined) recorder.warning(router, is.reason, is.message);
  }

  function observe(router: L7Router): ObservedRouter {
    const name = `${router.metadata.name}`;
    const { namespace, replicas } = workloadOf(router);
    const all = pods.of(router);
    const ready = all.filter(isReady);
    const onNodes = ready.flatMap(({ spec }) => nodes.cache.get(spec?.nodeName ?? '') ?? []);
    const service = provisioned.get<Service>('Service', `${namespace}/${workloadName(name)}`);
    const family = classes.familyOf(router.spec.ingressClassName);
    const provisionProblem = programs.get(name).problem;
    return {
      // Keep the addresses while no pod is ready, for example during a restart, so that the status of Ingresses is
      // stable.
      addresses: ready.length > 0 ? addressesOf(service, onNodes) : (router.status?.addresses ?? []),
      ...contentOf(router),
      hasAgents: isOwnProgram(router.spec.driver),
      readyPods: ready.map(({ metadata }) => `${metadata.name}`),
      replicas,
      rollout: rolloutFor(router, `${namespace}/${podsNameOf(router)}`, all),
      ...(router.spec.pool === undefined && { strayed: ready.flatMap(strayedOf) }),
      ...(provisionProblem !== undefined && { provisionProblem: provisionProblem.message }),
      ...(isOwnProgram(router.spec.driver) &&
        family?.settings === undefined && {
          classProblem: `IngressClass ${router.spec.ingressClassName} does not exist or its parameters are invalid; the router is left unchanged. Run: kubectl describe ingressclass ${router.spec.ingressClassName}`,
        }),
    };
  }

  function contentOf(router: L7Router): RouterContent {
    const key = classes.familyOf(router.spec.ingressClassName)?.key ?? '';
    const placed = placedContent(router, routesByFamily.get(key));
    const content = { ...placed, problems: [...placed.problems, ...reportedBy(router)] };
    return router.spec.hosts === undefined
      ? content
      : { ...content, conditions: [placements.conditionOf(key)] };
  }

  /** A router reports only about Ingresses that it serves. */
  function reportedBy(router: L7Router): RouterProblem[] {
    const keys = classesOf(router).flatMap((name) => classes.familyOf(name)?.key ?? []);
    const routes = [...new Set(keys)].flatMap((key) => routesByFamily.get(key) ?? []);
    return reportedProblems(router, (ingress) =>
      routes.some((each) => each.outcomeOf(ingress) !== undefined),
    );
  }

  function strayedOf({ metadata, spec }: Pod): { pod: string; node: string; pool: string }[] {
    const { labels = {} } = nodes.cache.get(spec?.nodeName ?? '')?.metadata ?? {};
    const pool = labels[NODE_POOL_LABEL] ?? labels[NODE_GROUP_LABEL];
    return pool === undefined ? [] : [{ pod: `${metadata.name}`, node: `${spec?.nodeName}`, pool }];
  }

  function rolloutFor(router: L7Router, key: string, all: readonly Pod[]): Rollout {
    const { problem } = programs.get(`${router.metadata.name}`);
    if (problem !== undefined) return { done: false, reason: 'NotProvisioned', message: problem.message };
    const deployment = provisioned.get<Deployment>('Deployment', key);
    // The status of the Deployment is about a previous spec of the router.
    if (
      deployment !== undefined &&
      !provisioned.isMadeFrom(deployment, router, context, freeNodes.outsidePools)
    ) {
      return { done: false, reason: 'Progressing', message: 'The Deployment has not been updated yet' };
    }
    return rolloutOf(deployment, all);
  }

  /** The entries of agents whose pods exist. Undefined if there are no others. */
  function agentsToKeep({ status }: L7Router): L7RouterStatus['agents'] | undefined {
    const agents = status?.agents ?? [];
    const running = new Set(pods.all.list().map(({ metadata }) => `${metadata.name}`));
    const keep = agents.filter(
      ({ name, time }) => running.has(name) || clock.now() - Date.parse(time ?? '') < KEEP_AGENT_MS,
    );
    return keep.length === agents.length ? undefined : keep;
  }

  /**
   * Removes entries of agents whose pods are gone. Each agent applies its entry as its own field manager, so the entry
   * outlives the pod. A merge patch replaces the whole list, whatever manager owns its entries; the resourceVersion
   * makes it fail if an agent has written in between.
   */
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
    .watch(nodes, routersOn, (old, node) => !isDeepStrictEqual(relevantOf(old), relevantOf(node)));
  pods.all.watchedBy(controller, (pod) => pods.routersOf(pod));
  provisioned.watchedBy(controller, ['Service', 'Deployment']);
  programs.onChange((router) => controller.enqueue(router));
  classes.onChange(() => {
    for (const router of routers.cache.list()) controller.enqueue(`${router.metadata.name}`);
  });
  return controller;

  function routersOn({ metadata }: Node): string[] {
    return pods.on(`${metadata.name}`).flatMap((pod) => pods.routersOf(pod));
  }
}

/** The part of the routes of the family that is on this router. */
function placedContent({ spec }: L7Router, routes: FamilyRoutes | undefined): RouterContent {
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

/** What the status of a router depends on. */
const relevantOf = ({ status, metadata: { labels = {} } }: Node): unknown => [
  status?.addresses,
  labels[NODE_POOL_LABEL],
  labels[NODE_GROUP_LABEL],
];

const readyOf = (status: L7RouterStatus | undefined): Condition | undefined =>
  getCondition(status?.conditions as Condition[] | undefined, 'Ready');

/** Whether the condition Ready differs. */
const readyChanged = ({ status: old }: L7Router, status: L7RouterStatus): boolean =>
  readyOf(old)?.status !== readyOf(status)?.status;

/** Whether all fields of `status` are in `old`. Ignores fields of agents and other writers. */
function isWritten(old: L7RouterStatus | undefined, status: L7RouterStatus): boolean {
  const { conditions = [], ...fields } = status;
  const of = (conditions: unknown, type: string): unknown => getCondition(conditions as Condition[], type);
  return (
    old !== undefined &&
    old.appliedGeneration === status.appliedGeneration &&
    conditions.every((condition) => isDeepStrictEqual(of(old.conditions, condition.type), condition)) &&
    // This condition is not always set.
    (of(old.conditions, SEES_ALL_POOLS) === undefined) === (of(conditions, SEES_ALL_POOLS) === undefined) &&
    Object.entries(fields).every(([field, value]) =>
      isDeepStrictEqual(old[field as keyof L7RouterStatus], value),
    )
  );
}
