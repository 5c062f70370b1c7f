/** Which nodes are heard, and for how long the others have been silent, by our own clock and not by theirs. */
import type { Lease, Node } from '@tidegate/kube';
import { NEVER_UPDATED, readyOf } from './conditions.ts';

/** Changes whenever the node gives a sign of life: a renewed Lease, or a status of its own. */
export function beatOf(node: Node, lease: Lease | undefined): string {
  const ready = readyOf(node);
  const reported = ready?.reason === NEVER_UPDATED ? undefined : ready?.lastHeartbeatTime;
  return `${lease?.spec?.renewTime ?? ''} ${reported ?? ''}`;
}

export class Heartbeats {
  readonly #last = new Map<string, { beat: string; at: number }>();
  #heardAt = Number.NEGATIVE_INFINITY;

  observe(name: string, beat: string, now: number): void {
    const last = this.#last.get(name);
    if (last?.beat === beat) return;
    this.#last.set(name, { beat, at: now });
    // What we find when we begin to look may be old.
    if (last !== undefined) this.#heardAt = now;
  }

  forget(name: string): void {
    this.#last.delete(name);
  }

  /** Milliseconds since the node was heard, or since we listen if that is less. */
  silence(name: string, now: number, listeningSince: number): number {
    return now - Math.max(this.#last.get(name)?.at ?? now, listeningSince);
  }

  /** Milliseconds since any node at all was heard. */
  silenceOfAll(now: number): number {
    return now - this.#heardAt;
  }
}
