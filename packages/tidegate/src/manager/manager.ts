import { setMaxListeners } from 'node:events';
import {
  type Clock,
  childController,
  EventRecorder,
  INGRESS_CLASSES,
  Informers,
  isNotFound,
  type KubeClient,
  type KubeObject,
  LEASES,
  LeaderElector,
  type Logger,
  type Metrics,
  NODES,
  orAborted,
  systemClock,
} from '@tidegate/kube';
import { HealthServer } from '@tidegate/serving';
import {
  accessReviews,
  admissionRules,
  type Endpoint,
  ingressSources,
  runWebhook,
} from '../admission/index.ts';
import { EDGE_APPLICATION_NAMESPACE_LABEL, INGRESS_FIELD_MANAGER, YURT_INGRESSES } from '../api/index.ts';
import { approvalController } from '../approval/index.ts';
import { applicationController } from '../apps/index.ts';
import { runIngressControllers } from '../ingress/index.ts';
import { followMembership, type PoolsContext, poolControllers, type ReachSources } from '../pools/index.ts';
import { yurtIngressControllers } from '../yurtingress/index.ts';
import { ensureNamespace, installDefinitions } from './install.ts';
import { LEASE, MANAGER, WEBHOOK_SECRET } from './names.ts';

export interface ManagerOptions {
  client: KubeClient;
  /** Different for every manager of a cluster, such as the name of its pod. */
  identity: string;
  /** `endpoint`: where API servers find the webhook, if not at host and port. */
  webhook: { host: string; port: number; endpoint?: Endpoint };
  health: { host: string; port: number };
  /** Where the hubs of nodes answer, besides the addresses of their nodes. */
  hubAddresses: readonly string[];
  /** The image of routers for which nobody names another. */
  routerImage: string;
  /** Without it the manager leads at once: for a cluster that has only one. */
  leaderElection: boolean;
  /** Whether to install our kinds; otherwise somebody else does, and the manager waits for them. */
  installDefinitions: boolean;
  log: Logger;
  metrics: Metrics;
  clock?: Clock;
  signal: AbortSignal;
  /** Called once, when API servers can ask; to lead is not part of it. */
  onReady?: (addresses: { healthPort: number }) => void;
}

/** Runs until the signal is aborted and everything has ended in order. Throws when it can not go on: then start it again. */
export async function runManager(options: ManagerOptions): Promise<void> {
  const { client, clock = systemClock, signal, metrics, log } = options;
  const health: Health = { reasons: ['admission is not served yet'] };
  const server = await HealthServer.listen({
    ...options.health,
    reasons: () => health.reasons,
    metrics: () => metrics.scrape(),
    log,
  });
  try {
    await ensureNamespace(client, signal);
    if (options.installDefinitions) await installDefinitions(client, clock, signal);
    await work({ ...options, clock }, health, () => options.onReady?.({ healthPort: server.port }));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await server.close();
  }
}

/** Why API servers should not ask, if so. */
interface Health {
  reasons: readonly string[];
}

/** The caches outlive what reads them. */
async function work(
  options: ManagerOptions & { clock: Clock },
  health: Health,
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
    await orAborted(synced, signal);
    await untilOneEnds(signal, [
      (stop) => serveAdmission(options, { membership, informers }, { health, onReady }, stop),
      (stop) => lead(options, { client, informers, membership, recorder, metrics, log, clock }, stop),
    ]);
  } finally {
    caches.abort();
    await following;
    await recorder.close();
  }
}

async function serveAdmission(
  { client, clock = systemClock, webhook, log }: ManagerOptions,
  { membership, informers }: Pick<PoolsContext, 'membership' | 'informers'>,
  { health, onReady }: { health: Health; onReady: () => void },
  signal: AbortSignal,
): Promise<void> {
  // Whoever is about to stop is sent nothing more.
  signal.addEventListener('abort', () => {
    health.reasons = ['it is about to stop'];
  });
  const ingresses = ingressSources(informers);
  const yurtIngresses = informers.for(YURT_INGRESSES);
  await orAborted(Promise.all([ingresses.synced, yurtIngresses.synced]), signal);
  await runWebhook(
    {
      client,
      ...webhook,
      rules: admissionRules({
        membership,
        rights: { access: accessReviews(client, clock), discovery: client.discovery },
        ingresses,
        yurtIngresses: yurtIngresses.cache,
        reach: reachOf(client, informers),
        now: () => clock.now(),
      }),
      // Which classes are ours: we are asked about their Ingresses only.
      onChange: (changed) => informers.for(INGRESS_CLASSES).addHandler({ onAdd: changed, onDelete: changed }),
      secret: WEBHOOK_SECRET,
      fieldManager: MANAGER,
      clock,
      log,
      onReady: () => {
        health.reasons = [];
        onReady();
      },
    },
    signal,
  );
}

const reachOf = (client: KubeClient, informers: Informers): Omit<ReachSources, 'membership'> => ({
  nodes: informers.for(NODES).cache,
  nodeNow: (name) => client.get(NODES, { name }).catch(undefinedIfGone),
  leaseOf: (name) => client.get(LEASES, { namespace: 'kube-node-lease', name }).catch(undefinedIfGone),
});

function undefinedIfGone(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

async function lead(options: ManagerOptions, context: PoolsContext, signal: AbortSignal): Promise<void> {
  const { hubAddresses, routerImage } = options;
  const runControllers = async (leading: AbortSignal): Promise<void> => {
    // Every controller listens to it.
    setMaxListeners(0, leading);
    // Made only now: a manager that does not lead needs no cache of all pods.
    const controllers = [
      ...poolControllers(context),
      applicationController(context),
      approvalController({ ...context, hubAddresses }),
      ...yurtIngressControllers({ ...context, routerImage }),
    ];
    await Promise.all([
      ...controllers.map((controller) => controller.run(leading)),
      runIngressControllers({ ...context, routerImage }, leading),
    ]);
  };
  if (!options.leaderElection) return runControllers(signal);
  const { client, clock, identity, metrics, log } = options;
  await new LeaderElector(client, { ...LEASE, identity, clock, metrics, log }).run(signal, runControllers);
}

/** Runs the parts until the signal is aborted. When one of them ends before, the others are ended too. */
async function untilOneEnds(
  signal: AbortSignal,
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const { controller, release } = childController(signal);
  // Every controller listens to it.
  setMaxListeners(0, controller.signal);
  const running = parts.map((part) => part(controller.signal).finally(() => controller.abort()));
  const outcomes = await Promise.allSettled(running);
  release();
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/**
 * They are half of an object. What applications made keeps them: they say that it was us who made it. Ingresses keep
 * those that say whether the address in their status is from us.
 */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields = [], ...metadata } = object.metadata;
  if (metadata.labels?.[EDGE_APPLICATION_NAMESPACE_LABEL] !== undefined) return object;
  const ours = object.kind === 'Ingress' ? managedFields.filter(isOfIngress) : [];
  return { ...object, metadata: ours.length === 0 ? metadata : { ...metadata, managedFields: ours } };
}

const isOfIngress = ({ manager }: { manager?: string }): boolean => manager === INGRESS_FIELD_MANAGER;
