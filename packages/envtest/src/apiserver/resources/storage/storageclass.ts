import { type FieldError, fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { each, required, supported } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE, isLabelKey } from '../validation/names.ts';
import { validateParameters, validateProvisioner } from './class-rules.ts';
import type { StorageClass, TopologyTerm } from './types.ts';

export const DEFAULT_STORAGE_CLASS = 'storageclass.kubernetes.io/is-default-class';

export const storageclasses = define<StorageClass>({
  group: 'storage.k8s.io',
  kind: 'StorageClass',
  plural: 'storageclasses',
  shortNames: ['sc'],
  namespaced: false,
  table: [
    {
      ...nameColumn,
      cell: ({ metadata }) =>
        `${metadata.name ?? ''}${metadata.annotations?.[DEFAULT_STORAGE_CLASS] === 'true' ? ' (default)' : ''}`,
    },
    { name: 'Provisioner', field: 'provisioner', cell: ({ provisioner }) => provisioner ?? '' },
    { name: 'ReclaimPolicy', field: 'reclaimPolicy', cell: ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete' },
    {
      name: 'VolumeBindingMode',
      field: 'volumeBindingMode',
      cell: ({ volumeBindingMode }) => volumeBindingMode ?? 'Immediate',
    },
    {
      name: 'AllowVolumeExpansion',
      field: 'allowVolumeExpansion',
      cell: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    },
    ageColumn,
  ],
  defaults(object) {
    object.reclaimPolicy ??= 'Delete';
    object.volumeBindingMode ??= 'Immediate';
  },
  validate: ({ provisioner, parameters, reclaimPolicy, volumeBindingMode, allowedTopologies }) => [
    ...validateProvisioner(provisioner, 'provisioner'),
    ...validateParameters(parameters, 'parameters'),
    ...(reclaimPolicy === '' ? [] : supported('reclaimPolicy', reclaimPolicy, ['Delete', 'Retain'])),
    ...supported('volumeBindingMode', volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']),
    ...validateTopologies(allowedTopologies, 'allowedTopologies'),
  ],
  validateUpdate: (object, old) =>
    (['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const).flatMap((field) =>
      semanticallyEqual(object[field], old[field])
        ? []
        : [fieldError.invalid(field, object[field] ?? null, IMMUTABLE)],
    ),
});

function validateTopologies(terms: TopologyTerm[] | undefined, path: string): FieldError[] {
  const seen = new Set<string>();
  return each(path, terms, ({ matchLabelExpressions: expressions = [] }, at) => {
    const keys = new Set<string>();
    const errors = each(`${at}.matchLabelExpressions`, expressions, ({ key = '', values = [] }, here) => {
      const isDuplicate = keys.has(key);
      keys.add(key);
      return [
        ...(values.length === 0 ? required(`${here}.values`, '') : []),
        ...values.flatMap((value, i) =>
          values.indexOf(value) < i ? [fieldError.duplicate(`${here}.values[${i}]`, value)] : [],
        ),
        ...isLabelKey(key).map((message) => fieldError.invalid(`${here}.key`, key, message)),
        ...(isDuplicate ? [fieldError.duplicate(`${here}.key`, key)] : []),
      ];
    });
    const sorted = expressions.map(({ key, values = [] }) => [key, [...new Set(values)].sort()]).sort();
    const id = JSON.stringify(sorted);
    if (seen.has(id)) errors.push(fieldError.duplicate(`${at}.matchLabelExpressions`, ''));
    seen.add(id);
    return errors;
  });
}
