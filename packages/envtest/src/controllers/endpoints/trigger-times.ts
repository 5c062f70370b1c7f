import { keyOf, type Pod, type Service } from '@tidegate/kube';

/**
 * Computes the trigger time of a write: the earliest change since the last reconcile of the Service. Proxies use
 * this annotation to measure how long a change takes to reach them.
 */
export class TriggerTimes {
  readonly #seen = new Map<string, Map<string, string>>();

  /** RFC 3339; undefined when no timed change was found, for example after a deletion. */
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
    // RFC 3339 times in UTC with whole seconds can be compared as strings.
    return [...now]
      .filter(([uid, time]) => time > (before.get(uid) ?? ''))
      .map(([, time]) => time)
      .sort()[0];
  }

  forget(serviceKey: string): void {
    this.#seen.delete(serviceKey);
  }
}
