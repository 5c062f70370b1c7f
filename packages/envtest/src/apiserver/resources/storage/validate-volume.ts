/** Validation of PersistentVolumes. */
import { formatQuantity } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { internalDiff } from '../pod/diff.ts';
import { internalVolumeSource } from '../pod/internal-spec.ts';
import { validateNodeSelector } from '../pod/scheduling.ts';
import { noBacksteps, VOLUME_SOURCES } from '../pod/volumes.ts';
import { required, supported } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE } from '../validation/names.ts';
import { quantityOf, type ResourceList } from '../validation/resource-names.ts';
import { validateAccessModes } from './access-modes.ts';
import { validateClassName, validateDriverName } from './class-rules.ts';
import type { PersistentVolume, PersistentVolumeSpec, VolumeSources } from './types.ts';

const INLINE = 'in the context of inline volumes';
const NOT_SOURCES = new Set([
  ...[
    'accessModes',
    'capacity',
    'claimRef',
    'persistentVolumeReclaimPolicy',
    'storageClassName',
    'volumeMode',
  ],
  ...['volumeAttributesClassName', 'mountOptions', 'nodeAffinity'],
]);

/** `isInline`: the spec is part of a VolumeAttachment and describes a volume of a pod. */
export function validateVolumeSpec(
  spec: PersistentVolumeSpec,
  path: string,
  isInline: boolean,
): FieldError[] {
  const modes = `${path}.accessModes`;
  return [
    ...(isInline ? validateInline(spec, path) : []),
    ...((spec.accessModes ?? []).length === 0 ? required(modes, '') : []),
    ...validateAccessModes(spec.accessModes, modes),
    ...(isInline ? [] : validateCapacity(spec.capacity, `${path}.capacity`)),
    ...(isInline ? [] : validatePolicies(spec, path)),
    ...validateSources(spec, path),
    ...(isInline ? [] : validateClassName(spec.storageClassName, `${path}.storageClassName`)),
    ...(isInline ? [] : supported(`${path}.volumeMode`, spec.volumeMode, ['Block', 'Filesystem'])),
    ...validateAttributesClass(spec, path),
  ];
}

function validateInline(spec: PersistentVolumeSpec, path: string): FieldError[] {
  const refused = (['claimRef', 'capacity', 'nodeAffinity', 'storageClassName'] as const).filter(
    (field) => spec[field] !== undefined,
  );
  return [
    ...refused.map((field) => fieldError.forbidden(`${path}.${field}`, `may not be specified ${INLINE}`)),
    ...(spec.csi === undefined ? [fieldError.required(`${path}.csi`, `has to be specified ${INLINE}`)] : []),
  ];
}

function validateCapacity(capacity: ResourceList = {}, path: string): FieldError[] {
  const names = Object.keys(capacity);
  return [
    ...(names.length === 0 ? [fieldError.required(path)] : []),
    ...(names.length === 1 && names[0] === 'storage'
      ? []
      : [fieldError.notSupported(path, names.length === 0 ? null : capacity, ['storage'])]),
    ...names.flatMap((name) => {
      const quantity = quantityOf(capacity, name);
      const at = `${path}[${name}]`;
      return quantity.nanos > 0n
        ? []
        : [fieldError.invalid(at, formatQuantity(quantity), 'must be greater than zero')];
    }),
  ];
}

function validatePolicies(spec: PersistentVolumeSpec, path: string): FieldError[] {
  const { persistentVolumeReclaimPolicy: policy, nodeAffinity } = spec;
  const policies = ['Delete', 'Recycle', 'Retain'];
  return [
    ...supported(`${path}.persistentVolumeReclaimPolicy`, policy, policies),
    ...(nodeAffinity === undefined
      ? []
      : nodeAffinity.required === undefined
        ? [fieldError.required(`${path}.nodeAffinity.required`, 'must specify required node constraints')]
        : validateNodeSelector(nodeAffinity.required, `${path}.nodeAffinity.required`)),
  ];
}

const sourcesOf = (spec: PersistentVolumeSpec): [string, unknown][] =>
  Object.entries(spec).filter(([field, value]) => !NOT_SOURCES.has(field) && value !== undefined);

function validateSources(spec: PersistentVolumeSpec, path: string): FieldError[] {
  const sources = sourcesOf(spec);
  if (sources.length === 0) return [fieldError.required(path, 'must specify a volume type')];
  const isRoot = /^\/+$/.test(spec.hostPath?.path ?? '') && spec.persistentVolumeReclaimPolicy === 'Recycle';
  return [
    ...sources.flatMap(([field], i) =>
      i > 0
        ? [fieldError.forbidden(`${path}.${field}`, 'may not specify more than 1 volume type')]
        : validateSource(spec, field, path),
    ),
    ...(isRoot
      ? [
          fieldError.forbidden(
            `${path}.persistentVolumeReclaimPolicy`,
            "may not be 'recycle' for a hostPath mount of '/'",
          ),
        ]
      : []),
  ];
}

function validateSource(spec: PersistentVolumeSpec, field: string, path: string): FieldError[] {
  const at = `${path}.${field}`;
  const { hostPath, nfs, local, csi }: VolumeSources = spec;
  if (field === 'hostPath' && hostPath !== undefined) return VOLUME_SOURCES.hostPath?.(hostPath, at) ?? [];
  if (field === 'nfs' && nfs !== undefined) return VOLUME_SOURCES.nfs?.(nfs, at) ?? [];
  if (field === 'local' && local !== undefined) {
    return [
      ...(local.path ? noBacksteps(`${at}.path`, local.path) : required(`${at}.path`, '')),
      ...(spec.nodeAffinity === undefined
        ? [fieldError.required(`${path}.nodeAffinity`, 'Local volume requires node affinity')]
        : []),
    ];
  }
  if (field !== 'csi' || csi === undefined) return [];
  return [
    ...validateDriverName(csi.driver, `${at}.driver`),
    ...required(`${at}.volumeHandle`, csi.volumeHandle),
  ];
}

function validateAttributesClass(spec: PersistentVolumeSpec, path: string): FieldError[] {
  const { volumeAttributesClassName: name, csi } = spec;
  if (name === undefined) return [];
  const at = `${path}.volumeAttributesClassName`;
  return [
    ...(name === ''
      ? [fieldError.required(at, 'an empty string is disallowed')]
      : validateClassName(name, at)),
    ...(csi === undefined
      ? [fieldError.required(`${path}.csi`, 'has to be specified when using volumeAttributesClassName')]
      : []),
  ];
}

export function validateVolumeUpdate(
  { spec }: PersistentVolume,
  { spec: old }: PersistentVolume,
): FieldError[] {
  const errors: FieldError[] = [];
  // The secret for expansion may be added later.
  const isAdded = old.csi?.controllerExpandSecretRef === undefined;
  const csi = spec.csi && isAdded ? { ...spec.csi, controllerExpandSecretRef: undefined } : spec.csi;
  const now = Object.fromEntries(sourcesOf({ ...spec, ...(csi && { csi }) }));
  const before = Object.fromEntries(sourcesOf(old));
  if (!semanticallyEqual(now, before)) {
    const diff = internalDiff(internalVolumeSource(before), internalVolumeSource(now));
    errors.push(
      fieldError.forbidden(
        'spec.persistentvolumesource',
        `spec.persistentvolumesource is immutable after creation\n${diff}`,
      ),
    );
  }
  if (spec.volumeMode !== old.volumeMode) {
    errors.push(fieldError.invalid('volumeMode', spec.volumeMode ?? null, IMMUTABLE));
  }
  if (old.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined) {
    errors.push(
      fieldError.forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden'),
    );
  }
  return errors;
}
