/** The scheduler's controller: its queue, the waiting pods, and the bindings. `index.ts` describes the whole. */
import { isDeepStrictEqual } from 'node:util';
import {
  Controller,
  type EventRecorder,
  isNotFound,
  type KubeClient,
  type KubeObject,
  keyOf,
  NAMESPACES,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  STORAGE_CLASSES,
} from '@tidegate/kube';
import type { ControllerContext, MakeController } from '../context.ts';
import { RETRIES } from '../retries.ts';
import { timestamp } from '../timestamp.ts';
import { SELECTED_NODE } from '../volumes/local-path.ts';
import { Cluster, isFinished } from './cluster.ts';
import { decide } from './decide.ts';
import { unboundClaims, type VolumeView } from './volume-fit.ts';

const NAME = 'default-scheduler';
/** Decisions are made one at a time, because `decide` is synchronous; this many bindings are written in parallel. */
const CONCURRENCY = 8;
/** The key that means "try all waiting pods again"; the queue removes duplicates. It is not a valid pod key. */
const ALL_WAITING = '*';

/** Keys are pods without a node. */
export const schedulerController: MakeController = (context) => new Scheduler(context).controller;

class Scheduler {
  readonly controller: Controller;
  readonly #client: KubeClient;
  readonly #recorder: EventRecorder;
  readonly #cluster = new Cluster();
  /** Pods for which no node fits, with the reported message. */
  readonly #waiting = new Map<string, string>();
  readonly #podOf: (key: string) => Pod | undefined;
  readonly #labelsOf: (namespace: string) => Record<string, string> | undefined;
  readonly #volumes: VolumeView;
  readonly #now: () => number;

  constructor({ client, informers, recorderFor, clock, metrics, log }: ControllerContext) {
    const [pods, nodes, namespaces] = [informers.for(PODS), informers.for(NODES), informers.for(NAMESPACES)];
    const claims = informers.for(PERSISTENT_VOLUME_CLAIMS);
    const volumes = informers.for(PERSISTENT_VOLUMES);
    const classes = informers.for(STORAGE_CLASSES);
    this.#volumes = {
      claim: (key) => claims.cache.get(key),
      volume: (name) => volumes.cache.get(name),
      storageClass: (name) => classes.cache.get(name),
    };
    this.#client = client;
    this.#recorder = recorderFor(NAME);
    this.#now = () => clock.now();
    this.#podOf = (key) => pods.cache.get(key);
    this.#labelsOf = (name) => {
      const namespace = namespaces.cache.get(name);
      return namespace === undefined ? undefined : (namespace.metadata.labels ?? {});
    };
    this.controller = new Controller({
      name: NAME,
      concurrency: CONCURRENCY,
      reconcile: (key, signal) => this.#reconcile(key, signal),
      queue: RETRIES,
      clock,
      metrics,
      log,
    });
    nodes.addHandler({
      onAdd: (node) => this.#nodeChanged(undefined, node),
      onUpdate: (old, node) => this.#nodeChanged(old, node),
      onDelete: (node) => {
        this.#cluster.removeNode(keyOf(node));
        this.controller.enqueue(ALL_WAITING);
      },
    });
    pods.addHandler({
      onAdd: (pod) => this.#podChanged(undefined, pod),
      onUpdate: (old, pod) => this.#podChanged(old, pod),
      onDelete: (pod) => this.#podGone(keyOf(pod)),
    });
    // Nodes and namespaces produce no keys, but `run` waits until the caches of everything that is watched are synced.
    this.controller.watch(pods, (pod) => (awaitsThisScheduler(pod) ? [keyOf(pod)] : []));
    this.controller.watch(nodes, () => []).watch(namespaces, () => []);
    // A pod may wait for its claims.
    const waiting = (): string[] => (this.#waiting.size > 0 ? [ALL_WAITING] : []);
    this.controller.watch(claims, waiting).watch(volumes, waiting).watch(classes, waiting);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    if (key === ALL_WAITING) {
      for (const waiting of this.#waiting.keys()) this.controller.enqueue(waiting);
      return;
    }
    const pod = this.#podOf(key);
    // The pod may already be placed although the cache does not show its node yet.
    if (pod === undefined || !awaitsThisScheduler(pod) || this.#cluster.nodeOf(key) !== undefined) return;
    const decision = decide(pod, this.#cluster, this.#labelsOf, this.#volumes);
    if ('nodeName' in decision) {
      const unbound = unboundClaims(pod, this.#volumes);
      if (unbound.length === 0) await this.#bind(pod, decision.nodeName, signal);
      else await this.#selectNode(pod, unbound, decision.nodeName, signal);
    } else await this.#wait(pod, decision.message, signal);
  }

  /** The claims of the pod get volumes on the node. The pod waits for them, and their events enqueue it again. */
  async #selectNode(
    pod: Pod,
    claims: readonly PersistentVolumeClaim[],
    nodeName: string,
    signal: AbortSignal,
  ): Promise<void> {
    this.#waiting.set(keyOf(pod), '');
    for (const { metadata } of claims) {
      if (metadata.annotations?.[SELECTED_NODE] !== undefined) continue;
      const target = { namespace: metadata.namespace, name: metadata.name ?? '' };
      const patch = { metadata: { uid: metadata.uid, annotations: { [SELECTED_NODE]: nodeName } } };
      await this.#client.patch(PERSISTENT_VOLUME_CLAIMS, target, 'merge', patch, { signal });
    }
  }

  async #bind(pod: Pod, nodeName: string, signal: AbortSignal): Promise<void> {
    const key = keyOf(pod);
    this.#cluster.place(pod, nodeName);
    try {
      await this.#client.create(PODS, bindingOf(pod, nodeName), { subresource: 'binding', signal });
    } catch (error) {
      this.#undoPlacement(key);
      if (isNotFound(error)) return;
      throw error;
    }
    this.#waiting.delete(key);
    this.#recorder.normal(pod, 'Scheduled', `Successfully assigned ${key} to ${nodeName}`);
  }

  /** Undoes a placement whose binding failed: the cache decides where the pod is, and its room is free for others. */
  #undoPlacement(key: string): void {
    this.#cluster.remove(key);
    const pod = this.#podOf(key);
    if (pod !== undefined) this.#podChanged(undefined, pod);
    this.controller.enqueue(ALL_WAITING);
  }

  async #wait(pod: Pod, message: string, signal: AbortSignal): Promise<void> {
    const key = keyOf(pod);
    const old = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    const reported = this.#waiting.get(key) ?? (old?.reason === 'Unschedulable' ? old.message : undefined);
    // Before any await, so that a change in the meantime finds the pod among the waiting ones.
    this.#waiting.set(key, message);
    if (reported === message) return;
    try {
      await this.#client.patch(
        PODS,
        { namespace: pod.metadata.namespace, name: pod.metadata.name ?? '', subresource: 'status' },
        'strategic',
        unschedulable(pod, message, this.#now()),
        { signal },
      );
      this.#recorder.warning(pod, 'FailedScheduling', message);
    } catch (error) {
      this.#waiting.delete(key);
      if (!isNotFound(error)) throw error;
    }
  }

  #nodeChanged(old: Node | undefined, node: Node): void {
    if (old !== undefined && !mattersToPods(old, node)) return;
    this.#cluster.setNode(node);
    this.controller.enqueue(ALL_WAITING);
  }

  #podChanged(old: Pod | undefined, pod: Pod): void {
    const key = keyOf(pod);
    const nodeName = pod.spec?.nodeName;
    if (!nodeName) return;
    if (isFinished(pod)) {
      this.#podGone(key);
      return;
    }
    this.#waiting.delete(key);
    const isNew = this.#cluster.nodeOf(key) !== nodeName;
    if (!isNew && old !== undefined && !mattersToOthers(old, pod)) return;
    this.#cluster.place(pod, nodeName);
    // A new pod takes room, but it may be the one that others with pod affinity wait for.
    for (const waiting of this.#waiting.keys()) {
      const other = this.#podOf(waiting);
      if (other !== undefined && looksAtOthers(other)) this.controller.enqueue(waiting);
    }
  }

  #podGone(key: string): void {
    this.#waiting.delete(key);
    if (this.#cluster.nodeOf(key) === undefined) return;
    this.#cluster.remove(key);
    this.controller.enqueue(ALL_WAITING);
  }
}

/** A pod that waits for this scheduler, and only for it. */
const awaitsThisScheduler = ({ metadata, spec, status }: Pod): boolean =>
  spec?.schedulerName === NAME &&
  !spec.nodeName &&
  (spec.schedulingGates ?? []).length === 0 &&
  metadata.deletionTimestamp === undefined &&
  status?.phase !== 'Succeeded' &&
  status?.phase !== 'Failed';

const bindingOf = ({ metadata: { name, namespace, uid } }: Pod, nodeName: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name, namespace, uid },
  target: { kind: 'Node', name: nodeName },
});

function unschedulable({ metadata, status }: Pod, message: string, now: number): object {
  const old = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message,
    lastProbeTime: null,
    lastTransitionTime: old?.status === 'False' ? old.lastTransitionTime : timestamp(now),
    observedGeneration: metadata.generation,
  };
  // With the uid, so that a new pod of the same name does not get the message of the old one.
  return { metadata: { uid: metadata.uid }, status: { conditions: [condition] } };
}

const mattersToPods = (old: Node, node: Node): boolean =>
  old.spec?.unschedulable !== node.spec?.unschedulable ||
  !isDeepStrictEqual(old.metadata.labels, node.metadata.labels) ||
  !isDeepStrictEqual(old.spec?.taints, node.spec?.taints) ||
  !isDeepStrictEqual(old.status?.allocatable, node.status?.allocatable);

/** Resources and labels can change in place, and terminating pods do not count for the topology spread. */
const mattersToOthers = (old: Pod, pod: Pod): boolean =>
  old.metadata.deletionTimestamp !== pod.metadata.deletionTimestamp ||
  !isDeepStrictEqual(old.metadata.labels, pod.metadata.labels) ||
  !isDeepStrictEqual(old.spec, pod.spec);

const looksAtOthers = ({ spec }: Pod): boolean =>
  spec?.affinity?.podAffinity !== undefined ||
  spec?.affinity?.podAntiAffinity !== undefined ||
  (spec?.topologySpreadConstraints ?? []).length > 0;
