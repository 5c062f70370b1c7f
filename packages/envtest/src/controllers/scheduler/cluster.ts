/**
 * The scheduler's model of the cluster: the nodes, and the resources that pods use on each. It is updated
 * incrementally from the caches, and is ahead of them by the pods whose binding is being written.
 */
import { keyOf, type Node, type Pod } from '@tidegate/kube';
import { controllerOf } from '../pods/index.ts';
import { type HostPort, hostPortsOf } from './host-ports.ts';
import { antiAffinityOf, type PodTerm } from './pod-terms.ts';
import { allocatableOf, difference, type Resources, requestsOf, sum } from './resources.ts';

/** A pod on a node, with everything that later decisions need, computed once. */
export interface PlacedPod {
  readonly pod: Pod;
  readonly nodeName: string;
  readonly requests: Resources;
  readonly ports: readonly HostPort[];
  readonly antiAffinity: readonly PodTerm[];
}

/** A node, and the pods that run or are about to run on it. */
export interface PlacedNode {
  readonly node: Node;
  readonly allocatable: Resources;
  readonly load: Load;
}

/** The pods that run, or are about to run, on one node. */
class Load {
  readonly pods = new Map<string, PlacedPod>();
  requested: Resources = new Map();
  readonly #byOwner = new Map<string, number>();

  add(key: string, placed: PlacedPod): void {
    this.pods.set(key, placed);
    this.requested = sum(this.requested, placed.requests);
    this.#count(placed.pod, 1);
  }

  remove(key: string, placed: PlacedPod): void {
    this.pods.delete(key);
    this.requested = difference(this.requested, placed.requests);
    this.#count(placed.pod, -1);
  }

  ofOwner(uid: string): number {
    return this.#byOwner.get(uid) ?? 0;
  }

  #count(pod: Pod, by: number): void {
    const owner = controllerOf(pod)?.uid;
    if (owner === undefined) return;
    const count = this.ofOwner(owner) + by;
    if (count === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, count);
  }
}

export class Cluster {
  readonly #nodes = new Map<string, PlacedNode>();
  /** Includes nodes that are not known yet, because a pod may be seen before its node. */
  readonly #loads = new Map<string, Load>();
  readonly #pods = new Map<string, PlacedPod>();
  /** Pods with anti-affinity, kept separately because every decision must look at them. */
  readonly #repelling = new Map<string, PlacedPod>();

  get nodes(): ReadonlyMap<string, PlacedNode> {
    return this.#nodes;
  }

  get repelling(): Iterable<PlacedPod> {
    return this.#repelling.values();
  }

  setNode(node: Node): void {
    const name = node.metadata.name ?? '';
    this.#nodes.set(name, { node, allocatable: allocatableOf(node), load: this.#loadOf(name) });
  }

  removeNode(name: string): void {
    this.#nodes.delete(name);
    this.#dropIfIdle(name);
  }

  nodeOf(podKey: string): string | undefined {
    return this.#pods.get(podKey)?.nodeName;
  }

  /** From now on the pod uses resources of this node. */
  place(pod: Pod, nodeName: string): void {
    const key = keyOf(pod);
    this.remove(key);
    const placed = {
      pod,
      nodeName,
      requests: requestsOf(pod),
      ports: hostPortsOf(pod),
      antiAffinity: antiAffinityOf(pod),
    };
    this.#pods.set(key, placed);
    this.#loadOf(nodeName).add(key, placed);
    if (placed.antiAffinity.length > 0) this.#repelling.set(key, placed);
  }

  remove(podKey: string): void {
    const placed = this.#pods.get(podKey);
    if (placed === undefined) return;
    this.#pods.delete(podKey);
    this.#repelling.delete(podKey);
    this.#loadOf(placed.nodeName).remove(podKey, placed);
    this.#dropIfIdle(placed.nodeName);
  }

  #loadOf(nodeName: string): Load {
    const existing = this.#loads.get(nodeName);
    if (existing !== undefined) return existing;
    const load = new Load();
    this.#loads.set(nodeName, load);
    return load;
  }

  #dropIfIdle(nodeName: string): void {
    if (!this.#nodes.has(nodeName) && this.#loads.get(nodeName)?.pods.size === 0)
      this.#loads.delete(nodeName);
  }
}

/** A finished pod uses no resources. */
export const isFinished = (pod: Pod): boolean =>
  pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
