/** The part `admission`: the webhook server, and when the API server must call it. */
import {
  INGRESS_CLASSES,
  type Informers,
  isNotFound,
  type KubeClient,
  LEASES,
  type Logger,
  type Metrics,
  NODES,
  orAborted,
  systemClock,
} from '@tidegate/kube';
import { accessReviews, admissionRules, ingressSources, runWebhook } from '../admission/index.ts';
import {
  EDGE_APPLICATIONS,
  NODE_GROUPS,
  NODE_POOLS,
  YURT_APP_DAEMONS,
  YURT_APP_OVERRIDERS,
  YURT_APP_SETS,
  YURT_INGRESSES,
} from '../api/index.ts';
import type { followTargetLabels } from '../apps/index.ts';
import type { Membership, PoolsContext, ReachabilitySources } from '../pools/index.ts';
import { MANAGER, WEBHOOK_SECRET } from './names.ts';
import type { ManagerOptions } from './options.ts';

interface AdmissionContext extends Pick<PoolsContext, 'membership' | 'informers'> {
  targets: ReturnType<typeof followTargetLabels>;
}

/** Serves the webhook until the signal aborts. */
export async function serveAdmission(
  options: ManagerOptions,
  { membership, informers, targets }: AdmissionContext,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const {
    client,
    clock = systemClock,
    webhook,
    registration = 'allow',
    log,
    metrics,
    provisioners,
  } = options;
  const ingresses = ingressSources({ client, informers, clock, ...(provisioners && { provisioners }) });
  const yurtIngresses = informers.for(YURT_INGRESSES);
  const yurtApps = yurtAppSources(informers);
  await orAborted(
    Promise.all([ingresses.synced, yurtIngresses.synced, targets.synced, yurtApps.synced]),
    signal,
  );
  await runWebhook(
    {
      client,
      ...webhook,
      rules: admissionRules({
        membership,
        targetLabels: targets.targetLabels,
        permissions: { access: accessReviews(client, clock), discovery: client.discovery },
        ingresses,
        yurtIngresses: yurtIngresses.cache,
        yurtApps,
        reachability: { ...reachabilityOf(client, informers), now: () => clock.now() },
        registration,
        now: () => clock.now(),
      }),
      onChange: (changed) => onConditionChange(informers, membership, targets, changed),
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
 * selector of a pool or an application. Both change with every status, their selectors do not.
 */
function onConditionChange(
  informers: Informers,
  membership: Membership,
  { targetLabels }: AdmissionContext['targets'],
  changed: () => void,
): () => void {
  const whenOther = (keys: () => Iterable<string>) => {
    let before = '';
    const look = (): void => {
      const now = [...keys()].toSorted().join(' ');
      if (now !== before) changed();
      before = now;
    };
    return { onAdd: look, onUpdate: look, onDelete: look };
  };
  const onPools = whenOther(() => membership.selectorKeys());
  const stops = [
    informers.for(INGRESS_CLASSES).addHandler({ onAdd: changed, onDelete: changed }),
    informers.for(NODE_POOLS).addHandler(onPools),
    informers.for(NODE_GROUPS).addHandler(onPools),
    informers.for(EDGE_APPLICATIONS).addHandler(whenOther(() => targetLabels.keys())),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** The application kinds of OpenYurt, and the pools that they select. */
function yurtAppSources(informers: Informers) {
  const [sets, daemons] = [informers.for(YURT_APP_SETS), informers.for(YURT_APP_DAEMONS)];
  const [overriders, pools] = [informers.for(YURT_APP_OVERRIDERS), informers.for(NODE_POOLS)];
  return {
    pools: pools.cache,
    overriders: overriders.cache,
    subject: (kind: string, key: string) =>
      kind === 'YurtAppSet' ? sets.cache.get(key) : daemons.cache.get(key),
    synced: Promise.all([sets.synced, daemons.synced, overriders.synced, pools.synced]),
  };
}

/** Less than the time in which a review must be answered. */
const NODE_READ_MS = 2_000;

const reachabilityOf = (
  client: KubeClient,
  informers: Informers,
): Omit<ReachabilitySources, 'membership' | 'now'> => ({
  pools: informers.for(NODE_POOLS).cache,
  groups: informers.for(NODE_GROUPS).cache,
  nodes: informers.for(NODES).cache,
  nodeNow: (name) => client.get(NODES, { name }, { deadlineMs: NODE_READ_MS }).catch(undefinedIfNotFound),
  leaseOf: (name) => client.get(LEASES, { namespace: 'kube-node-lease', name }).catch(undefinedIfNotFound),
});

function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
