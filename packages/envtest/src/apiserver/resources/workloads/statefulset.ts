import { define, replicasPaths, statusOf } from '../define.ts';
import { canonicalRequirements, defaultPodTemplate } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { nameIsLabel } from '../validation/names.ts';
import { validateReplicaCounts } from './status.ts';
import { templateColumns } from './template.ts';
import type { StatefulSet, VolumeClaimTemplate } from './types.ts';
import { validateStatefulSet, validateStatefulSetUpdate } from './validate.ts';
import { templateWarnings } from './warnings.ts';

export const statefulsets = define<StatefulSet>({
  group: 'apps',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  shortNames: ['sts'],
  categories: ['all'],
  name: nameIsLabel,
  parts: ['spec', 'status'],
  generation: true,
  subresources: statusOf('apps', 'v1', 'StatefulSet'),
  scale: replicasPaths,
  table: [
    nameColumn,
    {
      name: 'Ready',
      description: 'Number of the pod with ready state',
      cell: ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    },
    ageColumn,
    ...templateColumns<StatefulSet>(({ spec }) => spec.template),
  ],
  defaults: defaultStatefulSet,
  prepareForCreate: (statefulSet) => {
    statefulSet.status = { replicas: 0, availableReplicas: 0 };
  },
  validate: validateStatefulSet,
  validateUpdate: validateStatefulSetUpdate,
  validateStatusUpdate: ({ status }, old) =>
    validateReplicaCounts(status, old.status, 'status.readyReplicas'),
  warnings: (statefulSet, old) => templateWarnings(statefulSet, old, ({ spec }) => spec.template),
});

function defaultStatefulSet({ spec, status }: StatefulSet): void {
  spec.podManagementPolicy ||= 'OrderedReady';
  spec.updateStrategy ??= {};
  if (!spec.updateStrategy.type) {
    spec.updateStrategy.type = 'RollingUpdate';
    spec.updateStrategy.rollingUpdate ??= {};
  }
  if (spec.updateStrategy.type === 'RollingUpdate' && spec.updateStrategy.rollingUpdate !== undefined) {
    spec.updateStrategy.rollingUpdate.partition ??= 0;
  }
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= 'Retain';
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= 'Retain';
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  spec.serviceName ??= '';
  spec.template ??= {};
  defaultPodTemplate(spec.template);
  for (const claim of spec.volumeClaimTemplates ?? []) defaultClaim(claim);
  status.replicas ??= 0;
  status.availableReplicas ??= 0;
}

function defaultClaim(claim: VolumeClaimTemplate): void {
  claim.apiVersion ??= 'v1';
  claim.kind ??= 'PersistentVolumeClaim';
  claim.metadata ??= {};
  claim.spec ??= {};
  claim.spec.volumeMode ??= 'Filesystem';
  claim.spec.resources ??= {};
  canonicalRequirements(claim.spec.resources);
  claim.status ??= {};
  claim.status.phase ??= 'Pending';
}
