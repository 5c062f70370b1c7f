import { ownField } from '@tidegate/kube';
import { define, statusOf } from '../define.ts';
import { canonicalResources } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { ResourceQuota } from './types.ts';
import { validateAmounts, validateResourceQuota, validateResourceQuotaUpdate } from './validate-quota.ts';

export const resourcequotas = define<ResourceQuota>({
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  shortNames: ['quota'],
  parts: ['spec', 'status'],
  subresources: statusOf('', 'v1', 'ResourceQuota'),
  table: [
    nameColumn,
    {
      name: 'Request',
      description: 'Request represents a minimum amount of cpu/memory that a container may consume.',
      cell: (quota) => usage(quota, false),
    },
    {
      name: 'Limit',
      description:
        'Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.',
      cell: (quota) => usage(quota, true),
    },
    ageColumn,
  ],
  defaults({ spec }) {
    if (spec.hard !== undefined) canonicalResources(spec.hard);
  },
  prepareForCreate(quota) {
    quota.status = {};
  },
  validate: validateResourceQuota,
  validateUpdate: validateResourceQuotaUpdate,
  validateStatusUpdate: ({ status }) => [
    ...validateAmounts(status.hard, 'status.hard'),
    ...validateAmounts(status.used, 'status.used'),
  ],
});

/** For example `cpu: 1/2, pods: 3/10`. Limits are in a column of their own. */
function usage({ status }: ResourceQuota, ofLimits: boolean): string {
  const { hard = {}, used = {} } = status;
  return Object.keys(hard)
    .filter((name) => name.startsWith('limits.') === ofLimits)
    .sort()
    .map((name) => `${name}: ${ownField(used, name) ?? '0'}/${hard[name]}`)
    .join(', ');
}
