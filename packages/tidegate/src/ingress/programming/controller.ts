import {
  addFinalizer,
  Controller,
  hasFinalizer,
  isBeingDeleted,
  isConflict,
  isNotFound,
  type ReconcileResult,
  removeFinalizer,
} from '@tidegate/kube';
import { L7_ROUTERS, type L7Router, ROUTER_FINALIZER } from '../../api/index.ts';
import type { IngressContext } from '../context.ts';
import {
  isImplemented,
  notSupported,
  type Provisioner,
  type ProvisionerRegistry,
  RefusedError,
  withClosedHosts,
} from '../provisioners/index.ts';
import type { CallProblem, RouterPrograms } from './router-programs.ts';
import type { RouterSnapshots } from './router-snapshots.ts';

/** Delay after a conflict, so that the cache can receive the conflicting change. */
const CONFLICT_RETRY_MS = 200;
/** A load balancer elsewhere can change without an event. */
const RECHECK_MS = 600_000;
/**
 * Calls for different routers at the same time. A call for a load balancer elsewhere can wait for minutes, and must not keep
 * other routers waiting.
 */
const CONCURRENCY = 64;

export interface ProvisionParts {
  readonly registry: ProvisionerRegistry;
  readonly programs: RouterPrograms;
  readonly snapshots: RouterSnapshots;
  /** Whether a router that is being deleted still serves hosts that have not moved yet. Undefined until this is known. */
  readonly isDraining: (router: L7Router) => boolean | undefined;
}

/**
 * Calls the provisioner of each L7Router: `ensure`, then `reconcile` if the manager programs its routes, and `remove` when
 * the router is deleted. The queue never runs two calls for one router at the same time.
 */
export function provisionController(context: IngressContext, parts: ProvisionParts): Controller {
  const { client, informers, clock, log } = context;
  const { registry, programs, snapshots, isDraining } = parts;
  const routers = informers.for(L7_ROUTERS);
  /** When `ensure` of a router that the manager programs is due again, in monotonic time. */
  const dueAt = new Map<string, number>();
  /**
   * The UIDs of routers whose removal has begun, by name. They are not served again, whatever happens to other routers:
   * another router with the same name would find the objects that are left.
   */
  const removing = new Map<string, string>();

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const router = routers.cache.get(name);
    if (router === undefined) return forget(name, signal);
    const provisioner = registry.forDriver(router.spec.driver);
    if (provisioner === undefined || !isImplemented(provisioner)) return;
    try {
      const isServed = !isBeingDeleted(router) || (!hasBegunToLeave(router) && isDraining(router));
      // The next plan of the placement enqueues the router.
      if (isServed === undefined) return;
      if (isServed) return await serve(provisioner, router, signal);
      removing.set(name, `${router.metadata.uid}`);
      if (hasFinalizer(router, ROUTER_FINALIZER)) return await remove(provisioner, router, signal);
    } catch (error) {
      if (isConflict(error)) return { requeueAfter: CONFLICT_RETRY_MS };
      dueAt.delete(name);
      programs.update(name, { problem: problemOf(error) });
      // A change of the router, or of the manager, is needed. Another attempt is not.
      if (!(error instanceof RefusedError)) throw error;
    }
  }

  const hasBegunToLeave = ({ metadata }: L7Router): boolean =>
    removing.get(`${metadata.name}`) === metadata.uid;

  async function serve(
    provisioner: Provisioner,
    cached: L7Router,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const name = `${cached.metadata.name}`;
    const router = isBeingDeleted(cached)
      ? cached
      : await addFinalizer(client, L7_ROUTERS, cached, ROUTER_FINALIZER, { signal });
    if (isEnsureDue(provisioner, router)) await ensure(provisioner, router, signal);
    const waits = [untilDue(name)];
    if (provisioner.programming === 'manager' && programs.get(name).ensured?.ready === true)
      waits.push(await program(provisioner, router, signal));
    const next = Math.min(...waits.filter((wait) => wait !== undefined));
    return Number.isFinite(next) ? { requeueAfter: next } : {};
  }

  /**
   * Workloads are compared with caches, which costs nothing. A call for a load balancer elsewhere costs requests: it is made
   * for a new generation, after a failure, and when it is due. A change of endpoints does not need it.
   */
  function isEnsureDue({ programming }: Provisioner, { metadata }: L7Router): boolean {
    if (programming !== 'manager') return true;
    const { ensuredGeneration } = programs.get(`${metadata.name}`);
    return ensuredGeneration !== metadata.generation || (untilDue(`${metadata.name}`) ?? 0) <= 0;
  }

  async function ensure(provisioner: Provisioner, router: L7Router, signal: AbortSignal): Promise<void> {
    const name = `${router.metadata.name}`;
    const ensured = await provisioner.ensure(router, contextOf(router), signal);
    const again = ensured.againAfterMs ?? (provisioner.programming === 'manager' ? RECHECK_MS : undefined);
    if (again !== undefined) dueAt.set(name, clock.monotonic() + again);
    // Nothing of what was programmed before is on another load balancer.
    const { appliedGeneration, ensured: before } = programs.get(name);
    const isReplaced =
      before?.loadBalancer !== undefined && before.loadBalancer.id !== ensured.loadBalancer?.id;
    if (isReplaced) snapshots.failed(name);
    programs.update(name, {
      ensured,
      ensuredGeneration: router.metadata.generation,
      appliedGeneration: isReplaced ? undefined : appliedGeneration,
      problem: undefined,
    });
  }

  /** Returns when to call it again. */
  async function program(
    provisioner: Provisioner,
    router: L7Router,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const name = `${router.metadata.name}`;
    const whole = await snapshots.take(router, provisioner.endpointsOf?.(router) ?? 'pods', signal);
    // Nothing has changed, so the load balancer serves the snapshot already.
    if (whole === undefined) return undefined;
    const refused = notSupported(whole, provisioner.capabilities, provisioner.controller);
    try {
      const { failed, againAfterMs, incomplete } = (await provisioner.reconcile?.(
        router,
        withClosedHosts(whole, refused),
        signal,
        { isOutdated: () => isChanged(router) || snapshots.isOutdated(name) },
      )) ?? { failed: new Map() };
      if (incomplete === true) {
        snapshots.failed(name);
        // The change has enqueued the router already.
        return undefined;
      }
      snapshots.applied(name, againAfterMs !== undefined);
      programs.update(name, {
        appliedGeneration: whole.routerGeneration,
        failed: new Map([...refused, ...failed]),
        programProblem: undefined,
      });
      return againAfterMs;
    } catch (error) {
      snapshots.failed(name);
      programs.update(name, { programProblem: problemOf(error) });
      throw error;
    }
  }

  /** Whether hosts have moved, or the router is being deleted. */
  const isChanged = ({ metadata }: L7Router): boolean =>
    routers.cache.get(`${metadata.name}`)?.metadata.generation !== metadata.generation;

  async function remove(
    provisioner: Provisioner,
    router: L7Router,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const { gone, againAfterMs } = await provisioner.remove(router, contextOf(router), signal);
    if (!gone) return againAfterMs === undefined ? undefined : { requeueAfter: againAfterMs };
    try {
      await removeFinalizer(client, L7_ROUTERS, router, ROUTER_FINALIZER, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async function forget(name: string, signal: AbortSignal): Promise<undefined> {
    snapshots.drop(name);
    programs.delete(name);
    dueAt.delete(name);
    removing.delete(name);
    for (const provisioner of registry.implemented) await provisioner.forget?.(name, signal);
  }

  const untilDue = (name: string): number | undefined => {
    const at = dueAt.get(name);
    return at === undefined ? undefined : Math.max(0, at - clock.monotonic());
  };

  const contextOf = ({ metadata, spec }: L7Router) => ({
    parameters: spec.parameters ?? {},
    log: log.child({ router: metadata.name }),
  });

  const controller = new Controller({
    ...context,
    name: 'ingress-provision',
    reconcile,
    concurrency: CONCURRENCY,
  }).watch(routers);
  snapshots.onChange((router) => controller.enqueue(router));
  registry.onChange(() => {
    for (const { metadata } of routers.cache.list()) controller.enqueue(`${metadata.name}`);
  });
  return controller;
}

/** The reason of an error becomes the reason of the condition. */
function problemOf(error: unknown): CallProblem {
  const { message, reason } = error as Error & { reason?: unknown };
  return { message, ...(typeof reason === 'string' && { reason }) };
}
