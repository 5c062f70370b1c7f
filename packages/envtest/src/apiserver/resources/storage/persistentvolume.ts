import { define, statusOf } from '../define.ts';
import { canonicalResources } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { timestamp } from '../timestamp.ts';
import { shownModes } from './access-modes.ts';
import { protect } from './protection.ts';
import type { PersistentVolume } from './types.ts';
import { validateVolumeSpec, validateVolumeUpdate } from './validate-volume.ts';

export const persistentvolumes = define<PersistentVolume>({
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  shortNames: ['pv'],
  namespaced: false,
  parts: ['spec', 'status'],
  returnsDeleted: true,
  subresources: statusOf('', 'v1', 'PersistentVolume'),
  table: [
    nameColumn,
    { name: 'Capacity', field: 'spec.capacity', cell: ({ spec }) => spec.capacity?.storage ?? '0' },
    { name: 'Access Modes', field: 'spec.accessModes', cell: ({ spec }) => shownModes(spec.accessModes) },
    {
      name: 'Reclaim Policy',
      field: 'spec.persistentVolumeReclaimPolicy',
      cell: ({ spec }) => spec.persistentVolumeReclaimPolicy ?? '',
    },
    {
      name: 'Status',
      field: 'status.phase',
      cell: ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined ? (status.phase ?? '') : 'Terminating',
    },
    {
      name: 'Claim',
      field: 'spec.claimRef',
      cell: ({ spec }) =>
        spec.claimRef === undefined ? '' : `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}`,
    },
    {
      name: 'StorageClass',
      description: 'StorageClass of the pv',
      cell: ({ spec }) => spec.storageClassName ?? '',
    },
    {
      name: 'VolumeAttributesClass',
      description: 'VolumeAttributesClass of the pv',
      cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>',
    },
    { name: 'Reason', field: 'status.reason', cell: ({ status }) => status.reason ?? '' },
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
    spec.persistentVolumeReclaimPolicy ||= 'Retain';
    spec.volumeMode ??= 'Filesystem';
    if (spec.capacity !== undefined) canonicalResources(spec.capacity);
    if (spec.hostPath !== undefined) spec.hostPath.type ??= '';
  },
  prepareForCreate(volume, { now }) {
    protect(volume, 'PersistentVolume');
    volume.status = { phase: 'Pending', lastPhaseTransitionTime: timestamp(now) };
  },
  validate: ({ spec }) => validateVolumeSpec(spec, 'spec', false),
  validateUpdate: validateVolumeUpdate,
});
