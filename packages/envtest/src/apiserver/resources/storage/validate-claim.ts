/** Validation of PersistentVolumeClaims. */
import { compareQuantities, formatQuantity } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { internalDiff } from '../pod/diff.ts';
import { internalClaimSpec } from '../pod/internal-spec.ts';
import { named, required, supported } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE, isDNS1123Label, isDNS1123Subdomain } from '../validation/names.ts';
import { quantityOf } from '../validation/resource-names.ts';
import { validateLabelSelector } from '../validation/selectors.ts';
import { validateAccessModes } from './access-modes.ts';
import { validateClassName } from './class-rules.ts';
import type { ClaimSpec, DataSource, PersistentVolumeClaim } from './types.ts';

export function validateClaimSpec(spec: ClaimSpec, path: string): FieldError[] {
  const { accessModes = [], resources, dataSource, dataSourceRef } = spec;
  return [
    ...(accessModes.length === 0
      ? [fieldError.required(`${path}.accessModes`, 'at least 1 access mode is required')]
      : []),
    ...validateLabelSelector(spec.selector, `${path}.selector`),
    ...validateAccessModes(accessModes, `${path}.accessModes`),
    ...validateSize(resources, `${path}.resources[storage]`),
    ...validateClassName(spec.storageClassName, `${path}.storageClassName`),
    ...supported(`${path}.volumeMode`, spec.volumeMode, ['Block', 'Filesystem']),
    ...(dataSource === undefined ? [] : validateDataSource(dataSource, `${path}.dataSource`)),
    ...(dataSourceRef === undefined ? [] : validateDataSource(dataSourceRef, `${path}.dataSourceRef`)),
    ...validateSources(spec, path),
    ...validateClassName(spec.volumeAttributesClassName, `${path}.volumeAttributesClassName`),
  ];
}

function validateSize(resources: ClaimSpec['resources'], path: string): FieldError[] {
  if (resources?.requests?.storage === undefined) return [fieldError.required(path)];
  const size = quantityOf(resources.requests, 'storage');
  return size.nanos > 0n ? [] : [fieldError.invalid(path, formatQuantity(size), 'must be greater than zero')];
}

function validateDataSource(source: DataSource, path: string): FieldError[] {
  const { kind = '', name, namespace } = source;
  const apiGroup = source.apiGroup ?? '';
  return [
    ...required(`${path}.name`, name),
    ...required(`${path}.kind`, kind),
    ...(apiGroup === '' && kind !== 'PersistentVolumeClaim'
      ? [
          fieldError.invalid(
            path,
            kind,
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
          ),
        ]
      : []),
    ...(apiGroup === '' ? [] : named(`${path}.apiGroup`, apiGroup, isDNS1123Subdomain(apiGroup))),
    ...(namespace ? named(`${path}.namespace`, namespace, isDNS1123Label(namespace)) : []),
  ];
}

function validateSources({ dataSource, dataSourceRef }: ClaimSpec, path: string): FieldError[] {
  if (dataSource === undefined || dataSourceRef === undefined) return [];
  const wrong = (detail: string): FieldError[] => [fieldError.invalid(path, {}, detail)];
  if (dataSourceRef.namespace) return wrong('may not be specified when dataSourceRef.namespace is specified');
  const { namespace: _, ...local } = dataSourceRef;
  return semanticallyEqual(dataSource, local) ? [] : wrong('must match dataSourceRef');
}

export function validateClaimUpdate(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const { spec } = claim;
  const isBound = claim.status.phase === 'Bound';
  const fixed: ClaimSpec = { ...spec };
  const before: ClaimSpec = { ...old.spec };
  // The controller sets the volume once.
  if (!old.spec.volumeName) before.volumeName = fixed.volumeName;
  // A class may be assigned later to a claim without one.
  if (old.spec.storageClassName === undefined) before.storageClassName = fixed.storageClassName;
  if (isBound) {
    const requests = { ...spec.resources?.requests, storage: old.spec.resources?.requests?.storage ?? '0' };
    fixed.resources = { ...spec.resources, requests };
    fixed.volumeAttributesClassName = before.volumeAttributesClassName;
  }
  const errors: FieldError[] = [];
  if (!semanticallyEqual(internalClaimSpec(fixed), internalClaimSpec(before))) {
    const diff = internalDiff(internalClaimSpec(before), internalClaimSpec(fixed));
    const rule =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
    errors.push(fieldError.forbidden('spec', `${rule}\n${diff}`));
  }
  const sizeOf = (resources: ClaimSpec['resources']) => quantityOf(resources?.requests, 'storage');
  const size = sizeOf(spec.resources);
  // A request may be reduced after a failed expansion, but not below what the volume has.
  if (
    compareQuantities(size, sizeOf(old.spec.resources)) < 0 &&
    compareQuantities(size, quantityOf(old.status.capacity, 'storage')) <= 0
  ) {
    errors.push(
      fieldError.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'),
    );
  }
  if (spec.volumeMode !== old.spec.volumeMode) {
    errors.push(fieldError.invalid('volumeMode', spec.volumeMode ?? null, IMMUTABLE));
  }
  return errors;
}
