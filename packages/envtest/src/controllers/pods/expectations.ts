import { type Cache, type Clock, type Informer, type KubeObject, keyOf, type Pod } from '@tidegate/kube';

const TIMEOUT_MS = 5 * 60_000;

/**
 * Which of our own creates and deletes the pod cache does not show yet. Whoever counts pods while something is
 * missing makes too many or too few, so a controller leaves an owner's pods alone until `waitMs` is 0. Should an
 * event never come, the waiting ends after five minutes.
 */
export class Expectations {
  readonly #cache: Cache<Pod>;
  readonly #clock: Clock;
  /** By the uid of the pod. */
  readonly #pending = new Map<string, { owner: string; kind: 'create' | 'delete'; deadline: number }>();
  readonly #byOwner = new Map<string, Set<string>>();
  #creating = 0;
  /** Pods that appeared while creates were under way: the event may overtake the answer to the request. */
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

  /** Milliseconds that the owner may still have to wait for its cache; 0 when the cache shows all that was done. */
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

  /** Whether we have told the pod to go, though the cache does not show it yet. */
  isDeleting(pod: Pod): boolean {
    return this.#pending.get(uidOf(pod))?.kind === 'delete';
  }

  /** Runs the request that creates a pod; what it made is awaited from then on. */
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

  /** Runs the request that deletes a pod; its end, or the mark that it has to end, is awaited unless that fails. */
  async deleting(owner: KubeObject, pod: Pod, remove: () => Promise<void>): Promise<void> {
    const cached = this.#cache.get(keyOf(pod));
    // The caller may hold a pod whose end the cache has seen in the meantime.
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
