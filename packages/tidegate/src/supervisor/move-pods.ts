/**
 * Pods of a cluster that resumes on a machine where another program has taken a port of theirs in the meantime. The
 * manager gives routers other ports, and the example gets others as on a first start. Their old pods are removed before a
 * node can start them: they would only crash, and the other program would answer in their place.
 */
import {
  DEPLOYMENTS,
  type Deployment,
  isNotFound,
  type KubeClient,
  type KubeObject,
  PODS,
  REPLICA_SETS,
  sleep,
  systemClock,
} from '@tidegate/kube';
import { ROUTER_CONTAINER } from './router-pods.ts';
import { readStory, type StoryOptions, withFreePorts } from './story.ts';
import { portsOf } from './story-ports.ts';

/** The manager needs a moment to write its Deployments. Without it, nodes start the old pods, which is only untidy. */
const PATIENCE_MS = 30_000;
const POLL_MS = 200;

/** The ports of pods that another program listens on, on all addresses of this machine. */
export async function takenPorts(
  client: KubeClient,
  isFree: (port: number) => Promise<boolean>,
  signal: AbortSignal,
): Promise<Set<number>> {
  const [sets, pods] = await Promise.all([
    client.list(REPLICA_SETS, { signal }),
    client.list(PODS, { signal }),
  ]);
  // Old ReplicaSets have no pods.
  const objects = [...sets.items.filter(({ spec }) => spec?.replicas !== 0), ...pods.items];
  const taken = new Set<number>();
  for (const port of portsOf(objects)) if (!(await isFree(port))) taken.add(port);
  return taken;
}

/** Call it while the manager runs, and controllers and nodes do not. */
export async function movePods(
  client: KubeClient,
  options: StoryOptions & { taken: ReadonlySet<number> },
): Promise<void> {
  const { taken, signal, report } = options;
  const moved = await moveExample(client, options);
  await untilRewritten(client, moved, taken, signal);
  await removeOldPods(client, taken, signal);
  const { items: pods } = await client.list(PODS, { signal });
  for (const port of taken) {
    const left = pods.filter((pod) => portsOf([pod]).includes(port));
    if (left.length === 0) continue;
    const names = left.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    report(
      `port ${port} is in use by another program on this machine, so these pods cannot listen on it: ${names.join(', ')}; choose another containerPort for them, or stop that program`,
    );
  }
}

/** Objects that users have deleted stay deleted, and all that they have changed stays changed, except the ports. */
async function moveExample(client: KubeClient, options: StoryOptions): Promise<Set<string>> {
  const moved = new Set<string>();
  for (const object of await readStory(options.directory)) {
    if (portsOf([object]).length === 0) continue;
    const resource = await client.discovery.forObject(object);
    const target = {
      ...(resource.namespaced && { namespace: object.metadata.namespace ?? 'default' }),
      name: `${object.metadata.name}`,
    };
    let live: KubeObject & { spec?: unknown };
    try {
      live = await client.get(resource, target, { signal: options.signal });
    } catch (error) {
      if (isNotFound(error)) continue;
      throw error;
    }
    const [wanted] = (await withFreePorts([live], options)) as [typeof live];
    if (portsOf([wanted]).join() === portsOf([live]).join()) continue;
    await client.patch(resource, target, 'merge', { spec: wanted.spec }, { signal: options.signal });
    moved.add(`${live.metadata.uid}`);
  }
  return moved;
}

const ownersOf = ({ metadata }: KubeObject): string[] =>
  metadata.ownerReferences?.map(({ uid }) => uid) ?? [];

const uses = (object: KubeObject, taken: ReadonlySet<number>): boolean =>
  portsOf([object]).some((port) => taken.has(port));

/** The Deployments that the manager writes: those of routers, and those of the objects that have been moved. */
const isRewritten = (deployment: Deployment, moved: ReadonlySet<string>): boolean =>
  ownersOf(deployment).some((uid) => moved.has(uid)) ||
  deployment.spec?.template?.spec?.containers.some(({ name }) => name === ROUTER_CONTAINER) === true;

async function untilRewritten(
  client: KubeClient,
  moved: ReadonlySet<string>,
  taken: ReadonlySet<number>,
  signal: AbortSignal,
): Promise<void> {
  const end = systemClock.monotonic() + PATIENCE_MS;
  while (systemClock.monotonic() < end) {
    const { items } = await client.list(DEPLOYMENTS, { signal });
    if (!items.some((deployment) => isRewritten(deployment, moved) && uses(deployment, taken))) return;
    await sleep(systemClock, POLL_MS, signal);
  }
}

/** Of ReplicaSets whose Deployment has other ports now. Scaled down first, or a controller would create the pods again. */
async function removeOldPods(
  client: KubeClient,
  taken: ReadonlySet<number>,
  signal: AbortSignal,
): Promise<void> {
  const [deployments, sets, pods] = await Promise.all([
    client.list(DEPLOYMENTS, { signal }),
    client.list(REPLICA_SETS, { signal }),
    client.list(PODS, { signal }),
  ]);
  const current = new Set(
    deployments.items.filter((each) => !uses(each, taken)).map(({ metadata }) => metadata.uid),
  );
  for (const set of sets.items) {
    if (!uses(set, taken) || !ownersOf(set).some((uid) => current.has(uid))) continue;
    const { namespace, name = '', uid = '' } = set.metadata;
    await client.patch(REPLICA_SETS, { namespace, name }, 'merge', { spec: { replicas: 0 } }, { signal });
    for (const pod of pods.items.filter((each) => ownersOf(each).includes(uid))) {
      const target = { namespace, name: `${pod.metadata.name}` };
      await client.delete(PODS, target, { gracePeriodSeconds: 0, signal });
    }
  }
}
