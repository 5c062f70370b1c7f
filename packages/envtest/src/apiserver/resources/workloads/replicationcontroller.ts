import { define, replicasPaths, statusOf } from '../define.ts';
import { defaultPodTemplate } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { formatLabels } from '../validation/selectors.ts';
import { validateReplicaCounts } from './status.ts';
import { replicaColumns, templateColumns } from './template.ts';
import type { ReplicationController } from './types.ts';
import { validateReplicationController } from './validate-controller.ts';
import { nameWarnings, templateWarnings } from './warnings.ts';

export const replicationcontrollers = define<ReplicationController>({
  kind: 'ReplicationController',
  plural: 'replicationcontrollers',
  shortNames: ['rc'],
  categories: ['all'],
  parts: ['spec', 'status'],
  generation: true,
  subresources: statusOf('', 'v1', 'ReplicationController'),
  scale: replicasPaths,
  table: [
    nameColumn,
    ...replicaColumns,
    ageColumn,
    ...templateColumns<ReplicationController>(({ spec }) => spec.template),
    {
      name: 'Selector',
      wide: true,
      field: 'spec.selector',
      cell: ({ spec }) => formatLabels(spec.selector),
    },
  ],
  selectableFields: ({ status }) => ({ 'status.replicas': String(status.replicas ?? 0) }),
  defaults({ metadata, spec, status }) {
    spec.replicas ??= 1;
    status.replicas ??= 0;
    if (spec.template === undefined) return;
    defaultPodTemplate(spec.template);
    const labels = spec.template.metadata?.labels;
    if (labels === undefined) return;
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
    if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
  },
  prepareForCreate: (controller) => {
    controller.status = { replicas: 0 };
  },
  validate: validateReplicationController,
  validateStatusUpdate: ({ status }, old) => validateReplicaCounts(status, old.status),
  warnings: (controller, old) => [
    ...nameWarnings(controller, old),
    ...templateWarnings(controller, old, ({ spec }) => spec.template),
  ],
});
