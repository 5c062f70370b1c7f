import type { EventRecorder, KubeObject } from '@tidegate/kube';

/** An event that a plan wants to be recorded, with the reason and message of kube-controller-manager. */
export interface PlannedEvent {
  type: 'normal' | 'warning';
  reason: string;
  message: string;
}

export function recordEvents(
  recorder: EventRecorder,
  subject: KubeObject,
  events: readonly PlannedEvent[],
): void {
  for (const { type, reason, message } of events) recorder[type](subject, reason, message);
}
