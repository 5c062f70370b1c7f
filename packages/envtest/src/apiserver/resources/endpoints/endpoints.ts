import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { EndpointSubset, Endpoints } from './types.ts';
import { validateEndpoints } from './validate.ts';

export const endpoints = define<Endpoints>({
  kind: 'Endpoints',
  plural: 'endpoints',
  shortNames: ['ep'],
  createOnUpdate: true,
  deprecationWarning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  table: [
    nameColumn,
    { name: 'Endpoints', field: 'subsets', cell: ({ subsets }) => formatSubsets(subsets ?? []) },
    ageColumn,
  ],
  defaults({ subsets }) {
    for (const subset of subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= 'TCP';
  },
  validate: validateEndpoints,
});

function formatSubsets(subsets: EndpointSubset[]): string {
  if (subsets.length === 0) return '<none>';
  const all = subsets.flatMap(({ addresses = [], ports = [] }) => {
    const ips = addresses.map((address) => address.ip ?? '');
    if (ports.length === 0) return ips;
    return ports.flatMap(({ port = 0 }) => ips.map((ip) => `${ip.includes(':') ? `[${ip}]` : ip}:${port}`));
  });
  const shown = all.slice(0, 3).join(',');
  return all.length > 3 ? `${shown} + ${all.length - 3} more...` : shown;
}
