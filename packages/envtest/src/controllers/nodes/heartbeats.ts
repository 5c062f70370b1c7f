/**
 * When each node sent its last heartbeat, measured with the local clock. The clock of a node may be wrong, so the times in
 * Leases and conditions are only compared for equality.
 */
import type { Lease, Node } from '@tidegate/kube';
import { NEVER_UPDATED, readyOf } from './conditions.ts';

/** A value that changes with every sign of life: a renewed Lease, or a status update by the kubelet. */
export function beatOf(node: Node, lease: Lease | undefined): string {
  const ready = readyOf(node);
  const reported = ready?.reason === NEVER_UPDATED ? undefined : ready?.lastHeartbeatTime;
  return `${lease?.spec?.renewTime ?? ''} ${reported ?? ''}`;
}

export class Heartbeats {
  readonly #last = new Map<string, { beat: string; at: number }>();
  #lastBeatAt = Number.NEGATIVE_INFINITY;

  observe(name: string, beat: string, now: number): void {
    const last = this.#last.get(name);
    if (last?.beat === beat) return;
    this.#last.set(name, { beat, at: now });
    // The first observation may be an old heartbeat.
    if (last !== undefined) this.#lastBeatAt = now;
  }

  forget(name: string): void {
    this.#last.delete(name);
  }

  /** Milliseconds since the last heartbeat of the node, or since this process has been listening if that is shorter. */
  silence(name: string, now: number, listeningSince: number): number {
    return now - Math.max(this.#last.get(name)?.at ?? now, listeningSince);
  }

  /** Milliseconds since the last heartbeat of any node. */
  silenceOfAll(now: number): number {
    return now - this.#lastBeatAt;
  }
}
