import type { KubeObject } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';

export interface Lease extends KubeObject {
  spec: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    leaseTransitions?: number;
    strategy?: string;
    preferredHolder?: string;
  };
}

export const leases = define<Lease>({
  group: 'coordination.k8s.io',
  kind: 'Lease',
  plural: 'leases',
  parts: ['spec'],
  createOnUpdate: true,
  requiresResourceVersion: true,
  table: [
    nameColumn,
    { name: 'Holder', field: 'spec.holderIdentity', cell: ({ spec }) => spec.holderIdentity ?? '' },
    ageColumn,
  ],
  prepareForCreate: dropCoordination,
  prepareForUpdate: dropCoordination,
  validate: validateLease,
});

function validateLease({ spec }: Lease): FieldError[] {
  const errors: FieldError[] = [];
  const { leaseDurationSeconds, leaseTransitions } = spec;
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    errors.push(
      fieldError.invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'),
    );
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    errors.push(
      fieldError.invalid('spec.leaseTransitions', leaseTransitions, 'must be greater than or equal to 0'),
    );
  }
  return errors;
}

/** These fields belong to coordinated leader election, a feature that is disabled by default. */
function dropCoordination({ spec }: Lease): void {
  delete spec.strategy;
  delete spec.preferredHolder;
}
