/** Validation of replica counts in a status: none is negative, and none is greater than the total. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { nonNegative } from '../validation/checks.ts';

interface ReplicaCounts {
  replicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  updatedReplicas?: number;
  fullyLabeledReplicas?: number;
  currentReplicas?: number;
  unavailableReplicas?: number;
  observedGeneration?: number;
  collisionCount?: number;
}

const COUNTS = [
  'observedGeneration',
  'replicas',
  'updatedReplicas',
  'fullyLabeledReplicas',
  'currentReplicas',
  'readyReplicas',
  'availableReplicas',
  'unavailableReplicas',
  'collisionCount',
] as const;
const PARTS = [
  'updatedReplicas',
  'fullyLabeledReplicas',
  'currentReplicas',
  'readyReplicas',
  'availableReplicas',
] as const;

/** `ready` is the name of ready replicas in the messages of the kind. */
export function validateReplicaCounts(
  status: ReplicaCounts,
  old: ReplicaCounts,
  ready = 'readyReplicas',
): FieldError[] {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0, collisionCount = 0 } = status;
  const errors = COUNTS.flatMap((field) => nonNegative(`status.${field}`, status[field]));
  for (const field of PARTS) {
    if ((status[field] ?? 0) <= replicas) continue;
    errors.push(
      fieldError.invalid(`status.${field}`, status[field], 'cannot be greater than status.replicas'),
    );
  }
  if (availableReplicas > readyReplicas) {
    errors.push(
      fieldError.invalid('status.availableReplicas', availableReplicas, `cannot be greater than ${ready}`),
    );
  }
  if (collisionCount < (old.collisionCount ?? 0)) {
    errors.push(fieldError.invalid('status.collisionCount', collisionCount, 'cannot be decremented'));
  }
  return errors;
}
