import { setMaxListeners } from 'node:events';
import {
  type Clock,
  childController,
  EventRecorder,
  Informers,
  type KubeObject,
  LeaderElector,
  LeadershipLostError,
  type Logger,
  orAborted,
  systemClock,
} from '@tidegate/kube';
import { HealthServer } from '@tidegate/serving';
import { EDGE_APPLICATION_NAMESPACE_LABEL, INGRESS_FIELD_MANAGER } from '../api/index.ts';
import { approvalController } from '../approval/index.ts';
import { applicationController, followTargetLabels } from '../apps/index.ts';
import { runIngressControllers, servedDisruptionBudgets } from '../ingress/index.ts';
import { followMembership, type PoolsContext, poolControllers } from '../pools/index.ts';
import { yurtAppControllers } from '../yurtapps/index.ts';
import { yurtIngressControllers } from '../yurtingress/index.ts';
import { serveAdmission } from './admission.ts';
import { ensureNamespaces, installDefinitions } from './install.ts';
import { MANAGER, LEASES as PART_LEASES, PARTS, type Part } from './names.ts';
import type { ManagerOptions } from './options.ts';
import { untilAccepted } from './until-accepted.ts';
import { Waiting } from './waiting.ts';

/** Runs until the signal is aborted and all parts have stopped. Rejects on a fatal error; the caller should restart it. */
export async function runManager(options: ManagerOptions): Promise<void> {
  const { client, clock = systemClock, signal, metrics, log } = options;
  const health: Health = { reasons: ['the manager is starting'] };
  const waiting = new Waiting(client.config.server, { clock, log });
  const server = await HealthServer.listen({
    ...options.health,
    reasons: () => (health.reasons.length === 0 ? [] : [...health.reasons, ...waiting.reasons()]),
    metrics: () => metrics.scrape(),
    log,
  });
  try {
    const ask = (what: string, task: () => Promise<void>): Promise<void> => {
      let trouble: unknown;
      const onFailure = (error: unknown): void => {
        trouble = error;
      };
      const accepted = untilAccepted(what, task, { clock, log, signal, onFailure, waitsForPermission: true });
      return waiting.during(what, accepted, () => trouble);
    };
    await ask('create the namespaces of the manager', () => ensureNamespaces(client, signal));
    if (options.installDefinitions)
      await ask('install the CRDs', () => installDefinitions(client, clock, signal));
    let isFirst = true;
    const onReady = (): void => {
      if (isFirst) options.onReady?.({ healthPort: server.port });
      isFirst = false;
    };
    await untilNoLeaseIsLost(() => work({ ...options, clock }, health, waiting, onReady), log);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await server.close();
  }
}

/**
 * Runs the manager, and runs it again if it has lost a lease, for example because the API server was busy for ten seconds. That
 * is safe: the elector reports it when all controllers have stopped, and they start with new caches when the lease is acquired.
 */
async function untilNoLeaseIsLost(run: () => Promise<void>, log: Logger): Promise<void> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof LeadershipLostError)) throw error;
      log.warn({ err: error }, 'a lease is lost; the controllers have stopped, and start again');
    }
  }
}

/** Why the manager is not ready. Empty if it is. */
interface Health {
  reasons: readonly string[];
}

/** Stops the informers last, because the other parts read their caches until they end. */
async function work(
  options: ManagerOptions & { clock: Clock },
  health: Health,
  waiting: Waiting,
  onReady: () => void,
): Promise<void> {
  const { client, clock, signal, log, metrics } = options;
  const informers = new Informers(client, { transform: withoutManagedFields, clock, log });
  const { membership, synced } = followMembership(informers);
  const recorder = new EventRecorder(client, { component: MANAGER, instance: options.identity, clock, log });
  const caches = new AbortController();
  setMaxListeners(0, caches.signal);
  const following = informers.run(caches.signal);
  try {
    const trouble = (): unknown => informers.unsynced().find((each) => each.trouble !== undefined)?.trouble;
    await waiting.during('list nodes and pools', orAborted(synced, signal), trouble);
    const context = { client, informers, membership, recorder, metrics, log, clock };
    const isReady = (): void => {
      health.reasons = [];
      onReady();
    };
    // Report not ready first, so that the Service sends no more requests to this manager.
    const onAbort = (): void => {
      health.reasons = ['the manager is shutting down'];
    };
    signal.addEventListener('abort', onAbort, { signal: caches.signal });
    const { parts = PARTS } = options;
    if (parts.includes('admission')) health.reasons = ['the admission webhook is not ready yet'];
    else isReady();
    await untilOneEnds(
      signal,
      parts.map((part) => (stop) => {
        if (part !== 'admission') return lead(part, options, context, stop);
        const targets = followTargetLabels(informers);
        const serve = () => serveAdmission(options, { membership, informers, targets }, isReady, stop);
        return untilAccepted('configure the admission webhook', serve, { clock, log, signal: stop });
      }),
    );
  } finally {
    caches.abort();
    await following;
    await recorder.close();
  }
}

/** Runs the controllers of one part while this manager is its leader. */
async function lead(
  part: Exclude<Part, 'admission'>,
  options: ManagerOptions,
  context: PoolsContext,
  signal: AbortSignal,
): Promise<void> {
  const runControllers = async (leading: AbortSignal): Promise<void> => {
    // Every controller adds a listener, which would exceed the default limit.
    setMaxListeners(0, leading);
    await CONTROLLERS[part](options, context, leading);
  };
  if (!options.leaderElection) return runControllers(signal);
  const { client, clock, identity, metrics, log } = options;
  const election = { ...PART_LEASES[part], identity, clock, metrics, log };
  await new LeaderElector(client, election).run(signal, runControllers);
}

type RunControllers = (
  options: ManagerOptions,
  context: PoolsContext,
  signal: AbortSignal,
) => Promise<unknown>;

/**
 * The controllers of each part. They are created when this manager becomes the leader and not earlier: a manager that is
 * not the leader does not need a cache of all pods.
 */
const CONTROLLERS: Readonly<Record<Exclude<Part, 'admission'>, RunControllers>> = {
  pools: ({ hubAddresses, nodeAddresses = '' }, context, signal) =>
    Promise.all(
      [...poolControllers(context), approvalController({ ...context, hubAddresses, nodeAddresses })].map(
        (controller) => controller.run(signal),
      ),
    ),
  apps: (_, context, signal) =>
    Promise.all(
      [applicationController(context), ...yurtAppControllers(context)].map((controller) =>
        controller.run(signal),
      ),
    ),
  routers: async ({ routerImage, routerPolicy, routerPorts, provisioners }, context, signal) => {
    const { client, clock, log } = context;
    const disruptionBudgets = await untilAccepted(
      'report its API versions',
      () => servedDisruptionBudgets(client),
      { clock, log, signal },
    );
    const all = {
      ...context,
      routerImage,
      routerPolicy,
      routerPorts,
      disruptionBudgets,
      ...(provisioners && { provisioners }),
    };
    return Promise.all([
      ...yurtIngressControllers(all).map((controller) => controller.run(signal)),
      runIngressControllers(all, signal),
    ]);
  },
};

/** Runs the parts until the signal is aborted. If one of them ends earlier, the others are stopped too. */
async function untilOneEnds(
  signal: AbortSignal,
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const { controller, release } = childController(signal);
  // Every controller adds a listener, which would exceed the default limit.
  setMaxListeners(0, controller.signal);
  const running = parts.map((part) => part(controller.signal).finally(() => controller.abort()));
  const outcomes = await Promise.allSettled(running);
  release();
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  // After a lost lease, the manager goes on. Any other error is fatal, so it counts first.
  const fatal = reasons.find((reason) => !(reason instanceof LeadershipLostError));
  if (reasons.length > 0) throw fatal ?? reasons[0];
}

/**
 * Removes managed fields from cached objects to save memory: they are often half of an object. Objects of applications
 * keep them, because they show that Tidegate created the object. Ingresses keep the entries of Tidegate, which show
 * whether it wrote the address in the status.
 */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields = [], ...metadata } = object.metadata;
  if (metadata.labels?.[EDGE_APPLICATION_NAMESPACE_LABEL] !== undefined) return object;
  const ours = object.kind === 'Ingress' ? managedFields.filter(isOfIngress) : [];
  return { ...object, metadata: ours.length === 0 ? metadata : { ...metadata, managedFields: ours } };
}

const isOfIngress = ({ manager }: { manager?: string }): boolean => manager === INGRESS_FIELD_MANAGER;
