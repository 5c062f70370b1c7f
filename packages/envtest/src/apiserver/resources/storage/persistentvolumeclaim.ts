import { define, statusOf } from '../define.ts';
import { canonicalRequirements } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { shownModes } from './access-modes.ts';
import { protect } from './protection.ts';
import type { ClaimSpec, DataSource, PersistentVolumeClaim } from './types.ts';
import { validateClaimSpec, validateClaimUpdate } from './validate-claim.ts';

export const persistentvolumeclaims = define<PersistentVolumeClaim>({
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  shortNames: ['pvc'],
  parts: ['spec', 'status'],
  returnsDeleted: true,
  subresources: statusOf('', 'v1', 'PersistentVolumeClaim'),
  table: [
    nameColumn,
    {
      name: 'Status',
      field: 'status.phase',
      cell: ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined ? (status.phase ?? '') : 'Terminating',
    },
    { name: 'Volume', field: 'spec.volumeName', cell: ({ spec }) => spec.volumeName ?? '' },
    {
      name: 'Capacity',
      field: 'status.capacity',
      cell: ({ spec, status }) => (spec.volumeName ? (status.capacity?.storage ?? '0') : ''),
    },
    {
      name: 'Access Modes',
      field: 'status.accessModes',
      cell: ({ spec, status }) => (spec.volumeName ? shownModes(status.accessModes) : ''),
    },
    {
      name: 'StorageClass',
      description: 'StorageClass of the pvc',
      cell: ({ spec }) => spec.storageClassName ?? '',
    },
    {
      name: 'VolumeAttributesClass',
      description: 'VolumeAttributesClass of the pvc',
      cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>',
    },
    ageColumn,
    {
      name: 'VolumeMode',
      wide: true,
      field: 'spec.volumeMode',
      cell: ({ spec }) => spec.volumeMode ?? '<unset>',
    },
  ],
  defaults({ spec, status }) {
    status.phase ||= 'Pending';
    spec.volumeMode ??= 'Filesystem';
    spec.resources ??= {};
    canonicalRequirements(spec.resources);
  },
  prepareForCreate(claim) {
    protect(claim, 'PersistentVolumeClaim');
    claim.status = { phase: 'Pending' };
    normalizeDataSources(claim.spec);
  },
  prepareForUpdate: ({ spec }) => normalizeDataSources(spec),
  validate: ({ spec }) => validateClaimSpec(spec, 'spec'),
  validateUpdate: validateClaimUpdate,
});

const isClaimOrSnapshot = ({ apiGroup, kind }: DataSource): boolean =>
  (kind === 'PersistentVolumeClaim' && !apiGroup) ||
  (kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io');

/** The old field `dataSource` and the new `dataSourceRef` are copied to each other. */
function normalizeDataSources(spec: ClaimSpec): void {
  const { dataSource, dataSourceRef } = spec;
  for (const source of [dataSource, dataSourceRef]) if (source !== undefined) source.apiGroup ??= null;
  if (dataSourceRef === undefined) {
    if (dataSource === undefined) return;
    // The old field ignores everything but claims and snapshots.
    if (isClaimOrSnapshot(dataSource)) spec.dataSourceRef = { ...dataSource };
    else delete spec.dataSource;
    return;
  }
  const { namespace, ...local } = dataSourceRef;
  if (dataSource === undefined && !namespace) spec.dataSource = local;
}
