import { type FieldError, fieldError } from '@tidegate/serving';
import { define, statusOf } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { named } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE, isDNS1123Subdomain } from '../validation/names.ts';
import { validateDriverName } from './class-rules.ts';
import type { VolumeAttachment } from './types.ts';
import { validateVolumeSpec } from './validate-volume.ts';

const ONE_SOURCE = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';

export const volumeattachments = define<VolumeAttachment>({
  group: 'storage.k8s.io',
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  namespaced: false,
  parts: ['spec', 'status'],
  subresources: statusOf('storage.k8s.io', 'v1', 'VolumeAttachment'),
  table: [
    nameColumn,
    { name: 'Attacher', format: 'name', field: 'spec.attacher', cell: ({ spec }) => spec.attacher ?? '' },
    {
      name: 'PV',
      field: 'spec.source.persistentVolumeName',
      cell: ({ spec }) => spec.source?.persistentVolumeName ?? '',
    },
    { name: 'Node', field: 'spec.nodeName', cell: ({ spec }) => spec.nodeName ?? '' },
    {
      name: 'Attached',
      type: 'boolean',
      field: 'status.attached',
      cell: ({ status }) => status.attached ?? false,
    },
    ageColumn,
  ],
  prepareForCreate(object) {
    object.status = { attached: false };
  },
  validate: ({ spec }) => [
    ...validateDriverName(spec.attacher, 'spec.attacher'),
    ...validateSource(spec.source ?? {}, 'spec.source'),
    ...named('spec.nodeName', spec.nodeName ?? '', isDNS1123Subdomain(spec.nodeName ?? '')),
    ...validateVolumeName(spec.source?.persistentVolumeName),
  ],
  validateUpdate: ({ spec }, old) =>
    semanticallyEqual(spec, old.spec) ? [] : [fieldError.invalid('spec', internal(spec), IMMUTABLE)],
});

const internal = ({ attacher = '', source = {}, nodeName = '' }: VolumeAttachment['spec']): object => ({
  Attacher: attacher,
  Source: {
    PersistentVolumeName: source.persistentVolumeName ?? null,
    InlineVolumeSpec: source.inlineVolumeSpec ?? null,
  },
  NodeName: nodeName,
});

function validateSource(source: NonNullable<VolumeAttachment['spec']['source']>, path: string): FieldError[] {
  const { persistentVolumeName: name, inlineVolumeSpec: inline } = source;
  if (name === undefined && inline === undefined) return [fieldError.required(path, ONE_SOURCE)];
  if (name !== undefined && inline !== undefined) return [fieldError.forbidden(path, ONE_SOURCE)];
  if (inline !== undefined) return validateVolumeSpec(inline, `${path}.inlineVolumeSpec`, true);
  if (name === '') {
    return [
      fieldError.required(`${path}.persistentVolumeName`, 'must specify non empty persistentVolumeName'),
    ];
  }
  return [];
}

const validateVolumeName = (name: string | undefined): FieldError[] =>
  name === undefined ? [] : named('spec.source.persistentVolumeName', name, isDNS1123Subdomain(name));
