/**
 * What the scheduler knows of the cluster: the nodes, and which pods take how much of each. It follows the caches at
 * the cost of what changes, and is ahead of them by the pods that are on their way to a node.
 */
import { keyOf, type Node, type Pod } from '@tidegate/kube';
import { controllerOf } from '../pods/index.ts';
import { type HostPort, hostPortsOf } from './host-ports.ts';
import { antiAffinityOf, type PodTerm } from './pod-terms.ts';
import { allocatableOf, difference, type Resources, requestsOf, sum } from './resources.ts';

export interface PlacedPod {
  readonly pod: Pod;
  readonly nodeName: string;
  readonly requests: Resources;
  readonly ports: readonly HostPort[];
  readonly antiAffinity: readonly PodTerm[];
}

export interface PlacedNode {
  readonly node: Node;
  readonly allocatable: Resources;
  readonly load: Load;
}

/** All that runs, or is about to run, on one node. */
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
  /** Also of nodes that are not known (yet): a pod may be seen before its node. */
  readonly #loads = new Map<string, Load>();
  readonly #pods = new Map<string, PlacedPod>();
  /** Those whose presence keeps others away, however many other pods there are. */
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

  /** The pod counts on this node from now on. */
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

/** A pod that has ended holds nothing any more. */
export const isFinished = (pod: Pod): boolean =>
  pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
