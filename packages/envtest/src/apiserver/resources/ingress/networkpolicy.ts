import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { formatLabelSelector } from '../validation/selectors.ts';
import type { NetworkPolicy } from './types.ts';
import { validateNetworkPolicy } from './validate-policy.ts';

export const networkpolicies = define<NetworkPolicy>({
  group: 'networking.k8s.io',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  shortNames: ['netpol'],
  parts: ['spec'],
  generation: true,
  table: [
    nameColumn,
    {
      name: 'Pod-Selector',
      field: 'spec.podSelector',
      cell: ({ spec }) => formatLabelSelector(spec.podSelector),
    },
    ageColumn,
  ],
  defaults({ spec }) {
    spec.podSelector ??= {};
    for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
      for (const port of rule.ports ?? []) port.protocol ??= 'TCP';
    }
    if ((spec.policyTypes ?? []).length > 0) return;
    spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
  },
  validate: validateNetworkPolicy,
});
