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
import { type RouterPorts, runIngressControllers } from '../ingress/index.ts';
import {
  followMembership,
  type PoolsContext,
  poolControllers,
  type ReachabilitySources,
} from '../pools/index.ts';
import { yurtIngressControllers } from '../yurtingress/index.ts';
import { ensureNamespace, installDefinitions } from './install.ts';
import { LEASE, MANAGER, WEBHOOK_SECRET } from './names.ts';

export interface ManagerOptions {
  client: KubeClient;
  /** Must be unique among the managers of a cluster, for example the name of the pod. */
  identity: string;
  /** `endpoint`: how API servers reach the webhook, if not at host and port. */
  webhook: { host: string; port: number; endpoint?: Endpoint };
  health: { host: string; port: number };
  /** Addresses that hubs listen on in addition to the addresses of their node. */
  hubAddresses: readonly string[];
  /** The default image of routers. */
  routerImage: string;
  /** The ports of routers in their pods, if not the usual ones. */
  routerPorts?: RouterPorts;
  /** If false, the manager acts as the leader immediately. Use only if a single manager runs. */
  leaderElection: boolean;
  /** Whether to install the CRDs. If false, the manager waits until they are installed. */
  installDefinitions: boolean;
  log: Logger;
  metrics: Metrics;
  clock?: Clock;
  signal: AbortSignal;
  /** Called once, when admission is served. Leadership is not required for that. */
  onReady?: (addresses: { healthPort: number }) => void;
}

/** Runs until the signal is aborted and all parts have stopped. Rejects on a fatal error; the caller should restart it. */
export async function runManager(options: ManagerOptions): Promise<void> {
  const { client, clock = systemClock, signal, metrics, log } = options;
  const health: Health = { reasons: ['the admission webhook is not ready yet'] };
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

/** Why the manager is not ready. Empty if it is. */
interface Health {
  reasons: readonly string[];
}

/** Stops the informers last, because the other parts read their caches until they end. */
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
  // Report not ready first, so that the Service sends no more requests to this manager.
  signal.addEventListener('abort', () => {
    health.reasons = ['the manager is shutting down'];
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
        permissions: { access: accessReviews(client, clock), discovery: client.discovery },
        ingresses,
        yurtIngresses: yurtIngresses.cache,
        reachability: reachabilityOf(client, informers),
        now: () => clock.now(),
      }),
      // The webhook is called only for Ingresses of classes that Tidegate serves, so it depends on the IngressClasses.
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

const reachabilityOf = (
  client: KubeClient,
  informers: Informers,
): Omit<ReachabilitySources, 'membership'> => ({
  nodes: informers.for(NODES).cache,
  nodeNow: (name) => client.get(NODES, { name }).catch(undefinedIfNotFound),
  leaseOf: (name) => client.get(LEASES, { namespace: 'kube-node-lease', name }).catch(undefinedIfNotFound),
});

function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

async function lead(options: ManagerOptions, context: PoolsContext, signal: AbortSignal): Promise<void> {
  const { hubAddresses, routerImage, routerPorts } = options;
  const runControllers = async (leading: AbortSignal): Promise<void> => {
    // Every controller adds a listener, which would exceed the default limit.
    setMaxListeners(0, leading);
    // Created here and not earlier: a manager that is not the leader does not need a cache of all pods.
    const controllers = [
      ...poolControllers(context),
      applicationController(context),
      approvalController({ ...context, hubAddresses }),
      ...yurtIngressControllers({ ...context, routerImage }),
    ];
    await Promise.all([
      ...controllers.map((controller) => controller.run(leading)),
      runIngressControllers({ ...context, routerImage, routerPorts }, leading),
    ]);
  };
  if (!options.leaderElection) return runControllers(signal);
  const { client, clock, identity, metrics, log } = options;
  await new LeaderElector(client, { ...LEASE, identity, clock, metrics, log }).run(signal, runControllers);
}

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
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
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
