import type { EventRecorder, KubeObject } from '@tidegate/kube';

/** Something that a plan has to tell users, in the words of kube-controller-manager. */
export interface Note {
  type: 'normal' | 'warning';
  reason: string;
  message: string;
}

export function recordNotes(recorder: EventRecorder, subject: KubeObject, notes: readonly Note[]): void {
  for (const { type, reason, message } of notes) recorder[type](subject, reason, message);
}
