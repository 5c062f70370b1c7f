import { define } from '../define.ts';
import { ageColumn, firstThree, nameColumn } from '../table.ts';
import { legacySliceConversion, legacySliceSchema } from './legacy.ts';
import type { EndpointSlice } from './types.ts';
import { validateEndpointSlice, validateEndpointSliceUpdate } from './validate-slice.ts';

export const endpointslices = define<EndpointSlice>({
  group: 'discovery.k8s.io',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  generation: true,
  table: [
    nameColumn,
    { name: 'AddressType', field: 'addressType', cell: ({ addressType }) => addressType ?? '' },
    {
      name: 'Ports',
      field: 'ports',
      cell: ({ ports }) =>
        firstThree(
          (ports ?? []).map(({ port, name }) => `${port ?? name ?? '*'}`),
          '<unset>',
        ),
    },
    {
      name: 'Endpoints',
      field: 'endpoints',
      cell: ({ endpoints }) =>
        firstThree(
          (endpoints ?? []).flatMap((e) => e.addresses ?? []),
          '<unset>',
        ),
    },
    ageColumn,
  ],
  defaults(slice) {
    // Written even if empty.
    Object.assign(slice, { endpoints: slice.endpoints ?? null, ports: slice.ports ?? null });
    for (const endpoint of slice.endpoints ?? []) endpoint.conditions ??= {};
    for (const port of slice.ports ?? []) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  validate: validateEndpointSlice,
  warnings: ({ addressType }, old) =>
    addressType === 'FQDN' && old === undefined ? ['spec.addressType: FQDN endpoints are deprecated'] : [],
  validateUpdate: validateEndpointSliceUpdate,
  legacy: [{ name: 'v1beta1', schema: legacySliceSchema, ...legacySliceConversion }],
});
