import { define, statusOf } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { PodDisruptionBudget } from './types.ts';
import { validatePodDisruptionBudget } from './validate-pdb.ts';

const nothingCounted = () => ({
  disruptionsAllowed: 0,
  currentHealthy: 0,
  desiredHealthy: 0,
  expectedPods: 0,
});

export const poddisruptionbudgets = define<PodDisruptionBudget>({
  group: 'policy',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  shortNames: ['pdb'],
  parts: ['spec', 'status'],
  generation: true,
  requiresResourceVersion: true,
  subresources: statusOf('policy', 'v1', 'PodDisruptionBudget'),
  table: [
    nameColumn,
    {
      name: 'Min Available',
      description: 'The minimum number of pods that must be available.',
      cell: ({ spec }) => String(spec.minAvailable ?? 'N/A'),
    },
    {
      name: 'Max Unavailable',
      description: 'The maximum number of pods that may be unavailable.',
      cell: ({ spec }) => String(spec.maxUnavailable ?? 'N/A'),
    },
    {
      name: 'Allowed Disruptions',
      type: 'integer',
      description: 'Calculated number of pods that may be disrupted at this time.',
      cell: ({ status }) => status.disruptionsAllowed ?? 0,
    },
    ageColumn,
  ],
  defaults(budget) {
    budget.status = { ...nothingCounted(), ...budget.status };
  },
  prepareForCreate(budget) {
    budget.status = nothingCounted();
  },
  validate: validatePodDisruptionBudget,
});
