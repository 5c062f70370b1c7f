import { define, statusOf } from '../define.ts';
import type { BuiltinHooks } from '../hooks.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { ResourceDefinition } from '../types.ts';
import { nameIsLabel } from '../validation/names.ts';
import { formatLabels } from '../validation/selectors.ts';
import { allocateForCreate, allocateForUpdate } from './allocate.ts';
import { defaultService } from './defaults.ts';
import { externalIPs, portList } from './table.ts';
import type { Service } from './types.ts';
import { validateService, validateServiceUpdate } from './validate.ts';
import { serviceWarnings } from './warnings.ts';

export const services = (hooks: BuiltinHooks): ResourceDefinition =>
  define<Service>({
    kind: 'Service',
    plural: 'services',
    shortNames: ['svc'],
    categories: ['all'],
    createOnUpdate: true,
    returnsDeleted: true,
    parts: ['spec', 'status'],
    name: nameIsLabel,
    subresources: statusOf('', 'v1', 'Service'),
    table: [
      nameColumn,
      { name: 'Type', field: 'spec.type', cell: ({ spec }) => spec.type ?? '' },
      { name: 'Cluster-IP', field: 'spec.clusterIP', cell: ({ spec }) => spec.clusterIPs?.[0] ?? '<none>' },
      { name: 'External-IP', field: 'spec.externalIPs', cell: externalIPs },
      { name: 'Port(s)', field: 'spec.ports', cell: portList },
      ageColumn,
      {
        name: 'Selector',
        wide: true,
        field: 'spec.selector',
        cell: ({ spec }) => formatLabels(spec.selector),
      },
    ],
    selectableFields: ({ spec }) => ({
      'spec.clusterIP': spec.clusterIP ?? '',
      'spec.type': spec.type ?? '',
    }),
    defaults: defaultService,
    prepareForCreate(service, context) {
      service.status = { loadBalancer: {} };
      allocateForCreate(service, hooks.services, context);
    },
    prepareForUpdate: (service, old, context) => allocateForUpdate(service, old, hooks.services, context),
    validate: validateService,
    validateUpdate: validateServiceUpdate,
    warnings: serviceWarnings,
  });
