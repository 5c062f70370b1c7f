import { define, replicasPaths, statusOf } from '../define.ts';
import { defaultPodTemplate } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { validateReplicaCounts } from './status.ts';
import { selectorColumn, templateColumns } from './template.ts';
import type { ReplicaSet } from './types.ts';
import { validateReplicaSet, validateReplicaSetUpdate } from './validate.ts';
import { nameWarnings, templateWarnings } from './warnings.ts';

export const replicasets = define<ReplicaSet>({
  group: 'apps',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  shortNames: ['rs'],
  categories: ['all'],
  parts: ['spec', 'status'],
  generation: true,
  subresources: statusOf('apps', 'v1', 'ReplicaSet'),
  scale: replicasPaths,
  table: [
    nameColumn,
    { name: 'Desired', type: 'integer', field: 'spec.replicas', cell: ({ spec }) => spec.replicas ?? 0 },
    {
      name: 'Current',
      type: 'integer',
      field: 'status.replicas',
      cell: ({ status }) => status.replicas ?? 0,
    },
    {
      name: 'Ready',
      type: 'integer',
      field: 'status.readyReplicas',
      cell: ({ status }) => status.readyReplicas ?? 0,
    },
    ageColumn,
    ...templateColumns<ReplicaSet>(({ spec }) => spec.template),
    selectorColumn<ReplicaSet>(({ spec }) => spec.selector),
  ],
  defaults({ spec, status }) {
    spec.replicas ??= 1;
    status.replicas ??= 0;
    spec.template ??= {};
    defaultPodTemplate(spec.template);
  },
  prepareForCreate: (replicaSet) => {
    replicaSet.status = { replicas: 0 };
  },
  validate: validateReplicaSet,
  validateUpdate: validateReplicaSetUpdate,
  validateStatusUpdate: ({ status }, old) => validateReplicaCounts(status, old.status),
  warnings: (replicaSet, old) => [
    ...nameWarnings(replicaSet, old),
    ...templateWarnings(replicaSet, old, ({ spec }) => spec.template),
  ],
});
