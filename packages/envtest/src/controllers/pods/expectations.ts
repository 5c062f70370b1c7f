import { type Cache, type Clock, type Informer, type KubeObject, keyOf, type Pod } from '@tidegate/kube';

const TIMEOUT_MS = 5 * 60_000;

/**
 * Tracks the creates and deletes that the pod cache does not show yet. A controller that counts pods while one is
 * missing creates too many or too few, so it leaves an owner's pods alone until `waitMs` is 0. In case an event is
 * lost, the wait ends after five minutes.
 *
 * It corresponds to the expectations of kube-controller-manager, but tracks uids instead of counts: an unrelated
 * event can then never satisfy an expectation.
 */
export class Expectations {
  readonly #cache: Cache<Pod>;
  readonly #clock: Clock;
  /** By pod uid. */
  readonly #pending = new Map<string, { owner: string; kind: 'create' | 'delete'; deadline: number }>();
  readonly #byOwner = new Map<string, Set<string>>();
  #creating = 0;
  /** Pods that appeared while creates were in progress: a watch event can arrive before the response to the request. */
  readonly #appeared = new Set<string>();

  constructor(pods: Informer<Pod>, clock: Clock) {
    this.#cache = pods.cache;
    this.#clock = clock;
    pods.addHandler({
      onAdd: (pod) => this.#onAdd(pod),
      onUpdate: (_, pod) => this.#onUpdate(pod),
      onDelete: (pod) => this.#settle(pod.metadata.uid ?? ''),
    });
  }

  /** Milliseconds that the owner may still have to wait; 0 when the cache shows all its creates and deletes. */
  waitMs(owner: KubeObject): number {
    const now = this.#clock.monotonic();
    let wait = 0;
    for (const uid of [...(this.#byOwner.get(uidOf(owner)) ?? [])]) {
      const left = (this.#pending.get(uid)?.deadline ?? 0) - now;
      if (left <= 0) this.#settle(uid);
      else wait = Math.max(wait, left);
    }
    return wait;
  }

  /** Whether this controller has deleted the pod, even if the cache does not show it yet. */
  isDeleting(pod: Pod): boolean {
    return this.#pending.get(uidOf(pod))?.kind === 'delete';
  }

  /** Runs the request that creates a pod, and expects the pod to appear in the cache. */
  async creating(owner: KubeObject, create: () => Promise<Pod>): Promise<Pod> {
    this.#creating++;
    try {
      const pod = await create();
      if (!this.#appeared.has(uidOf(pod))) this.#await(owner, pod, 'create');
      return pod;
    } finally {
      this.#creating--;
      if (this.#creating === 0) this.#appeared.clear();
    }
  }

  /** Runs the request that deletes a pod, and expects its deletion or its deletionTimestamp to appear in the cache. */
  async deleting(owner: KubeObject, pod: Pod, remove: () => Promise<void>): Promise<void> {
    const cached = this.#cache.get(keyOf(pod));
    // The caller may hold an old copy of a pod whose deletion the cache already shows.
    if (cached !== undefined && uidOf(cached) === uidOf(pod) && !isMarked(cached))
      this.#await(owner, pod, 'delete');
    try {
      await remove();
    } catch (error) {
      this.#settle(uidOf(pod));
      throw error;
    }
  }

  #await(owner: KubeObject, pod: Pod, kind: 'create' | 'delete'): void {
    const deadline = this.#clock.monotonic() + TIMEOUT_MS;
    this.#pending.set(uidOf(pod), { owner: uidOf(owner), kind, deadline });
    const pods = this.#byOwner.get(uidOf(owner));
    if (pods === undefined) this.#byOwner.set(uidOf(owner), new Set([uidOf(pod)]));
    else pods.add(uidOf(pod));
  }

  #onAdd(pod: Pod): void {
    if (this.#creating > 0) this.#appeared.add(uidOf(pod));
    this.#onUpdate(pod);
  }

  #onUpdate(pod: Pod): void {
    const pending = this.#pending.get(uidOf(pod));
    if (pending === undefined) return;
    if (pending.kind === 'create' || isMarked(pod)) this.#settle(uidOf(pod));
  }

  #settle(uid: string): void {
    const pending = this.#pending.get(uid);
    if (pending === undefined) return;
    this.#pending.delete(uid);
    const pods = this.#byOwner.get(pending.owner);
    pods?.delete(uid);
    if (pods?.size === 0) this.#byOwner.delete(pending.owner);
  }
}

const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? '';
const isMarked = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;
