import { define, replicasPaths, statusOf } from '../define.ts';
import { defaultPodTemplate } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { validateReplicaCounts } from './status.ts';
import { replicaColumns, selectorColumn, templateColumns } from './template.ts';
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
    ...replicaColumns,
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
