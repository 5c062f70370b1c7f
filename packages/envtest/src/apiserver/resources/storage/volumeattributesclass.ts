import { fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { validateParameters, validateProvisioner } from './class-rules.ts';
import { protect } from './protection.ts';
import type { VolumeAttributesClass } from './types.ts';

export const volumeattributesclasses = define<VolumeAttributesClass>({
  group: 'storage.k8s.io',
  kind: 'VolumeAttributesClass',
  plural: 'volumeattributesclasses',
  shortNames: ['vac'],
  namespaced: false,
  generation: true,
  table: [
    nameColumn,
    { name: 'DriverName', field: 'driverName', cell: ({ driverName }) => driverName ?? '' },
    ageColumn,
  ],
  prepareForCreate: (object) => protect(object, 'VolumeAttributesClass'),
  validate: ({ driverName, parameters = {} }) => [
    ...validateProvisioner(driverName, 'driverName'),
    ...validateParameters(parameters, 'parameters'),
    ...(Object.keys(parameters).length === 0
      ? [fieldError.required('parameters', 'must contain at least one key/value pair')]
      : []),
  ],
  validateUpdate: (object, old) =>
    (['driverName', 'parameters'] as const).flatMap((field) =>
      semanticallyEqual(object[field], old[field])
        ? []
        : [fieldError.forbidden(field, `updates to ${field} are forbidden.`)],
    ),
});
