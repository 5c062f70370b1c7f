import { fieldErrorMessage } from '@tidegate/serving';
import { expect, it } from 'vitest';
import { validateReplicaCounts } from './status.ts';

const check = (status: object, old = {}): string[] =>
  validateReplicaCounts(status, old).map(fieldErrorMessage);

it('accepts consistent counts', () => {
  expect(check({ replicas: 3, readyReplicas: 2, availableReplicas: 1, updatedReplicas: 3 })).toEqual([]);
});

it('rejects inconsistent counts', () => {
  expect(check({ replicas: 1, readyReplicas: 2 })).toEqual([
    'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
  ]);
  expect(check({ replicas: 2, readyReplicas: 1, availableReplicas: 2 })).toEqual([
    'status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas',
  ]);
  expect(check({ replicas: -1 })[0]).toBe(
    'status.replicas: Invalid value: -1: must be greater than or equal to 0',
  );
  expect(check({ collisionCount: 1 }, { collisionCount: 2 })).toEqual([
    'status.collisionCount: Invalid value: 1: cannot be decremented',
  ]);
});
