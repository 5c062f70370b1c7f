/** Validation of `metadata` for all kinds, including custom resources. */
import { type ObjectMeta, type OwnerReference, parseApiVersion } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { semanticallyEqual } from './equal.ts';
import { IMMUTABLE, isDNS1123Label, isLabelKey, type NameRule, NON_NEGATIVE } from './names.ts';
import { validateLabels } from './selectors.ts';

const MAX_ANNOTATIONS_BYTES = 256 * 1024;
const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

export interface MetadataRules {
  namespaced: boolean;
  checkName: NameRule;
}

export function validateObjectMeta(meta: ObjectMeta, rules: MetadataRules, path = 'metadata'): FieldError[] {
  const errors: FieldError[] = [];
  const { name = '', generateName = '' } = meta;
  if (generateName !== '') {
    for (const message of rules.checkName(generateName, true)) {
      errors.push(fieldError.invalid(`${path}.generateName`, generateName, message));
    }
  }
  if (name === '') errors.push(fieldError.required(`${path}.name`, 'name or generateName is required'));
  else {
    for (const message of rules.checkName(name, false)) {
      errors.push(fieldError.invalid(`${path}.name`, name, message));
    }
  }
  return [...errors, ...validateNamespace(meta, rules.namespaced, path), ...validateCommon(meta, path)];
}

function validateNamespace(meta: ObjectMeta, namespaced: boolean, path: string): FieldError[] {
  const { namespace = '' } = meta;
  if (!namespaced) {
    return namespace === '' ? [] : [fieldError.forbidden(`${path}.namespace`, 'not allowed on this type')];
  }
  if (namespace === '') return [fieldError.required(`${path}.namespace`)];
  return isDNS1123Label(namespace).map((m) => fieldError.invalid(`${path}.namespace`, namespace, m));
}

function validateCommon(meta: ObjectMeta, path: string): FieldError[] {
  return [
    ...((meta.generation ?? 0) < 0
      ? [fieldError.invalid(`${path}.generation`, meta.generation, NON_NEGATIVE)]
      : []),
    ...validateLabels(meta.labels, `${path}.labels`),
    ...validateAnnotations(meta.annotations, `${path}.annotations`),
    ...validateOwnerReferences(meta.ownerReferences ?? [], `${path}.ownerReferences`),
    ...validateFinalizers(meta.finalizers ?? [], `${path}.finalizers`),
    ...validateManagedFields(meta, `${path}.managedFields`),
  ];
}

export function validateAnnotations(
  annotations: Record<string, string> | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    // The prefix of an annotation may be in upper case.
    for (const message of isLabelKey(key.toLowerCase())) errors.push(fieldError.invalid(path, key, message));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > MAX_ANNOTATIONS_BYTES) errors.push(fieldError.tooLong(path, MAX_ANNOTATIONS_BYTES));
  return errors;
}

/** An owner reference with its fields in the order in which kube-apiserver prints them. */
const inOrder = ({
  apiVersion,
  kind,
  name,
  uid,
  controller,
  blockOwnerDeletion,
}: OwnerReference): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
  controller,
  blockOwnerDeletion,
});

function validateOwnerReferences(references: OwnerReference[], path: string): FieldError[] {
  const errors: FieldError[] = [];
  let controller = '';
  for (const reference of references) {
    errors.push(...validateOwnerReference(reference, path));
    if (reference.controller !== true) continue;
    const current = `${reference.kind}/${reference.name}`;
    if (controller === '') controller = current;
    else {
      errors.push(
        fieldError.invalid(
          path,
          references.map(inOrder),
          `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${current}`,
        ),
      );
    }
  }
  return errors;
}

function validateOwnerReference(reference: OwnerReference, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { apiVersion = '', kind = '', name = '', uid = '' } = reference;
  const { group, version } = parseApiVersion(apiVersion);
  const notEmpty = (field: string, value: string): void => {
    if (value === '') errors.push(fieldError.invalid(`${path}.${field}`, value, 'must not be empty'));
  };
  if (version === '')
    errors.push(fieldError.invalid(`${path}.apiVersion`, apiVersion, 'version must not be empty'));
  notEmpty('kind', kind);
  notEmpty('name', name);
  notEmpty('uid', uid);
  if (group === '' && version === 'v1' && kind === 'Event') {
    errors.push(fieldError.invalid(path, reference, '/v1, Kind=Event is disallowed from being an owner'));
  }
  return errors;
}

function validateFinalizers(finalizers: string[], path: string): FieldError[] {
  const errors = finalizers.flatMap((finalizer) =>
    isLabelKey(finalizer).map((message) => fieldError.invalid(path, finalizer, message)),
  );
  if (finalizers.includes(ORPHAN) && finalizers.includes(FOREGROUND)) {
    errors.push(
      fieldError.invalid(path, finalizers, `finalizer ${ORPHAN} and ${FOREGROUND} cannot be both set`),
    );
  }
  return errors;
}

/** Built-in kinds require finalizers with a domain prefix; custom resources accept any. */
export function validateKubeFinalizers({ finalizers = [] }: ObjectMeta, path = 'metadata'): FieldError[] {
  const standard = new Set(['kubernetes', ORPHAN, FOREGROUND]);
  const detail = 'name is neither a standard finalizer name nor is it fully qualified';
  return finalizers.flatMap((finalizer, i) =>
    finalizer.includes('/') || standard.has(finalizer)
      ? []
      : [fieldError.invalid(`${path}.finalizers[${i}]`, finalizer, detail)],
  );
}

function validateManagedFields(meta: ObjectMeta, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, entry] of (meta.managedFields ?? []).entries()) {
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') {
      errors.push(
        fieldError.invalid(`${path}[${i}].operation`, entry.operation ?? '', 'must be `Apply` or `Update`'),
      );
    }
    if ((entry.fieldsType ?? '') !== '' && entry.fieldsType !== 'FieldsV1') {
      errors.push(fieldError.invalid(`${path}[${i}].fieldsType`, entry.fieldsType, 'must be `FieldsV1`'));
    }
    if (Buffer.byteLength(entry.manager ?? '') > 128)
      errors.push(fieldError.tooLong(`${path}[${i}].manager`, 128));
  }
  return errors;
}

/** Checks immutable fields. The object must also pass `validateObjectMeta`. */
export function validateObjectMetaUpdate(meta: ObjectMeta, old: ObjectMeta, path = 'metadata'): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) errors.push(...validateNoNewFinalizers(meta, old, path));
  if ((meta.resourceVersion ?? '') === '') {
    errors.push(fieldError.invalid(`${path}.resourceVersion`, '', 'must be specified for an update'));
  }
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(fieldError.invalid(`${path}.generation`, meta.generation ?? 0, 'must not be decremented'));
  }
  const immutable = [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const;
  for (const field of immutable) {
    if (!semanticallyEqual(meta[field], old[field])) {
      errors.push(fieldError.invalid(`${path}.${field}`, meta[field] ?? emptyOf(field), IMMUTABLE));
    }
  }
  return [...errors, ...validateCommon({ ...meta, generation: undefined }, path)];
}

/** How kube-apiserver prints an immutable field that was removed. */
const emptyOf = (field: string): unknown => (/Timestamp|Seconds/.test(field) ? null : '');

function validateNoNewFinalizers(meta: ObjectMeta, old: ObjectMeta, path: string): FieldError[] {
  const before = new Set(old.finalizers ?? []);
  const added = [...new Set(meta.finalizers ?? [])].filter((finalizer) => !before.has(finalizer)).sort();
  if (added.length === 0) return [];
  const list = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
  return [
    fieldError.forbidden(
      `${path}.finalizers`,
      `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`,
    ),
  ];
}
