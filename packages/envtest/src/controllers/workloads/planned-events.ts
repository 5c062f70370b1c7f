import type { EventRecorder, KubeObject } from '@tidegate/kube';

/** An event to record, with the reason and message of kube-controller-manager. */
export interface PlannedEvent {
  type: 'normal' | 'warning';
  reason: string;
  message: string;
}

/** Records the events that a plan contains. Plans are pure, so they cannot record events themselves. */
export function recordEvents(
  recorder: EventRecorder,
  subject: KubeObject,
  events: readonly PlannedEvent[],
): void {
  for (const { type, reason, message } of events) recorder[type](subject, reason, message);
}
