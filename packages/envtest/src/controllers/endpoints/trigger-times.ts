import { keyOf, type Pod, type Service } from '@tidegate/kube';

/**
 * When the change happened that a write of endpoints is the answer to: the earliest of what changed since the last
 * look at the Service. Those who carry the traffic measure by it how long a change takes to reach them.
 */
export class TriggerTimes {
  readonly #seen = new Map<string, Map<string, string>>();

  /** RFC 3339; undefined when no change with a time was found, such as after a deletion. */
  next(service: Service, pods: readonly Pod[]): string | undefined {
    const key = keyOf(service);
    const before = this.#seen.get(key);
    const now = new Map<string, string>();
    for (const pod of pods) {
      const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
      if (ready) now.set(pod.metadata.uid ?? '', ready);
    }
    this.#seen.set(key, now);
    if (before === undefined) return service.metadata.creationTimestamp ?? undefined;
    // RFC 3339 in UTC and in seconds sorts as text.
    return [...now]
      .filter(([uid, time]) => time > (before.get(uid) ?? ''))
      .map(([, time]) => time)
      .sort()[0];
  }

  forget(serviceKey: string): void {
    this.#seen.delete(serviceKey);
  }
}
