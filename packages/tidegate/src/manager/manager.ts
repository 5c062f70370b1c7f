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
  type ClientAuthentication,
  type Endpoint,
  ingressSources,
  runWebhook,
} from '../admission/index.ts';
import {
  EDGE_APPLICATION_NAMESPACE_LABEL,
  INGRESS_FIELD_MANAGER,
  NODE_GROUPS,
  NODE_POOLS,
  YURT_INGRESSES,
} from '../api/index.ts';
import { approvalController } from '../approval/index.ts';
import { applicationController } from '../apps/index.ts';
import {
  type RouterPolicy,
  type RouterPorts,
  runIngressControllers,
  servedDisruptionBudgets,
} from '../ingress/index.ts';
import {
  followMembership,
  type Membership,
  type PoolsContext,
  poolControllers,
  type ReachabilitySources,
} from '../pools/index.ts';
import { yurtIngressControllers } from '../yurtingress/index.ts';
import { ensureNamespaces, installDefinitions } from './install.ts';
import { MANAGER, LEASES as PART_LEASES, PARTS, type Part, WEBHOOK_SECRET } from './names.ts';
import { untilAccepted } from './until-accepted.ts';

export interface ManagerOptions {
  client: KubeClient;
  /** What this manager runs. Default: everything. */
  parts?: readonly Part[];
  /** Must be unique among the managers of a cluster, for example the name of the pod. */
  identity: string;
  /**
   * `endpoint`: how API servers reach the webhook, if not at host and port. `clients`: which clients may send reviews, if
   * not every client that can connect.
   */
  webhook: { host: string; port: number; endpoint?: Endpoint; clients?: ClientAuthentication };
  health: { host: string; port: number };
  /** Addresses that hubs listen on in addition to the addresses of their node. */
  hubAddresses: readonly string[];
  /** Whether a node may choose its pool when it registers. Default: `allow`. */
  registration?: 'allow' | 'refuse';
  /** Comma-separated addresses and ranges that serving certificates of all nodes may contain. */
  nodeAddresses?: string;
  /** The default image of routers. */
  routerImage: string;
  /** What else may run as a router, and where. */
  routerPolicy?: RouterPolicy;
  /** The ports of routers in their pods, if not the usual ones. */
  routerPorts?: RouterPorts;
  /** If false, the manager acts as the leader immediately. Use only if a single manager runs. */
  leaderElection: boolean;
  /**
   * Whether to install the CRDs and the webhook configurations. If false, the manager waits for the CRDs, and writes only
   * the CA bundle and the conditions of the webhooks.
   */
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
  const health: Health = { reasons: ['the manager is starting'] };
  const server = await HealthServer.listen({
    ...options.health,
    reasons: () => health.reasons,
    metrics: () => metrics.scrape(),
    log,
  });
  try {
    const retry = { clock, log, signal };
    await untilAccepted(
      'create the namespaces of the manager',
      () => ensureNamespaces(client, signal),
      retry,
    );
    if (options.installDefinitions)
      await untilAccepted('install the CRDs', () => installDefinitions(client, clock, signal), retry);
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
    const context = { client, informers, membership, recorder, metrics, log, clock };
    const isReady = (): void => {
      health.reasons = [];
      onReady();
    };
    // Report not ready first, so that the Service sends no more requests to this manager.
    signal.addEventListener('abort', () => {
      health.reasons = ['the manager is shutting down'];
    });
    const { parts = PARTS } = options;
    if (parts.includes('admission')) health.reasons = ['the admission webhook is not ready yet'];
    else isReady();
    await untilOneEnds(
      signal,
      parts.map((part) => (stop) => {
        if (part !== 'admission') return lead(part, options, context, stop);
        const serve = () => serveAdmission(options, { membership, informers }, isReady, stop);
        return untilAccepted('configure the admission webhook', serve, { clock, log, signal: stop });
      }),
    );
  } finally {
    caches.abort();
    await following;
    await recorder.close();
  }
}

async function serveAdmission(
  options: ManagerOptions,
  { membership, informers }: Pick<PoolsContext, 'membership' | 'informers'>,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock = systemClock, webhook, registration = 'allow', log, metrics } = options;
  const ingresses = ingressSources({ client, informers, clock });
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
        registration,
        now: () => clock.now(),
      }),
      onChange: (changed) => onConditionChange(informers, membership, changed),
      secret: WEBHOOK_SECRET,
      installs: options.installDefinitions,
      onProblems: reportingProblems(metrics, log),
      fieldManager: MANAGER,
      clock,
      log,
      onReady,
    },
    signal,
  );
}

/** Reports what is wrong in the webhook configurations: in the log when it changes, and as a number in the metrics. */
function reportingProblems(metrics: Metrics, log: Logger): (problems: readonly string[]) => void {
  const count = metrics.gauge('tidegate_webhook_configuration_problems', {
    help: 'Differences between the webhook configurations in the cluster and those that this version of the manager expects.',
  });
  let reported = '';
  return (problems) => {
    count.set({}, problems.length);
    const text = problems.join('; ');
    if (text === reported) return;
    reported = text;
    if (problems.length > 0) log.warn({ problems }, 'the webhook configurations are not as expected');
    else log.info({}, 'the webhook configurations are as expected');
  };
}

/**
 * The webhook is called only for Ingresses of classes that Tidegate serves, and for nodes that change a label in the
 * selector of a pool. Pools change with every status, their selectors do not.
 */
function onConditionChange(informers: Informers, membership: Membership, changed: () => void): () => void {
  let keys = '';
  const onPool = (): void => {
    const now = [...membership.selectorKeys()].toSorted().join(' ');
    if (now !== keys) changed();
    keys = now;
  };
  const onPools = { onAdd: onPool, onUpdate: onPool, onDelete: onPool };
  const stops = [
    informers.for(INGRESS_CLASSES).addHandler({ onAdd: changed, onDelete: changed }),
    informers.for(NODE_POOLS).addHandler(onPools),
    informers.for(NODE_GROUPS).addHandler(onPools),
  ];
  return () => {
    for (const stop of stops) stop();
  };
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
  apps: (_, context, signal) => applicationController(context).run(signal),
  routers: async ({ routerImage, routerPolicy, routerPorts }, context, signal) => {
    const { client, clock, log } = context;
    const disruptionBudgets = await untilAccepted(
      'report its API versions',
      () => servedDisruptionBudgets(client),
      { clock, log, signal },
    );
    const all = { ...context, routerImage, routerPolicy, routerPorts, disruptionBudgets };
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
