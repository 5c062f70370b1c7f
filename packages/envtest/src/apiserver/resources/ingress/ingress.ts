import { type Authored, define, statusOf } from '../define.ts';
import { loadBalancerAddresses } from '../service/table.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { legacyConversion } from './legacy.ts';
import type { Ingress, IngressRule } from './types.ts';
import { validateIngress, validateIngressStatus } from './validate.ts';
import { ingressWarnings } from './warnings.ts';

const common: Omit<Authored<Ingress>, 'group' | 'version'> = {
  kind: 'Ingress',
  plural: 'ingresses',
  storage: 'networking.k8s.io/ingresses',
  parts: ['spec', 'status'],
  generation: true,
  table: [
    nameColumn,
    {
      name: 'Class',
      description: 'The name of the IngressClass resource that should be used for additional configuration',
      cell: ({ spec }) => spec.ingressClassName ?? '<none>',
    },
    {
      name: 'Hosts',
      description: 'Hosts that incoming requests are matched against before the ingress rule',
      cell: ({ spec }) => formatHosts(spec.rules ?? []),
    },
    {
      name: 'Address',
      description: 'Address is a list containing ingress points for the load-balancer',
      cell: ({ status }) => loadBalancerAddresses(status.loadBalancer?.ingress).join(','),
    },
    {
      name: 'Ports',
      description: 'Ports of TLS configurations that open',
      cell: ({ spec }) => ((spec.tls ?? []).length > 0 ? '80, 443' : '80'),
    },
    ageColumn,
  ],
  defaults({ status }) {
    status.loadBalancer ??= {};
  },
  prepareForCreate(ingress) {
    ingress.status = { loadBalancer: {} };
  },
  validate: validateIngress,
  validateStatusUpdate: validateIngressStatus,
  warnings: ingressWarnings,
};

const deprecated = (apiVersion: string): string =>
  `${apiVersion} Ingress is deprecated in v1.14+, unavailable in v1.22+; use networking.k8s.io/v1 Ingress`;

export const ingresses = define<Ingress>({
  ...common,
  group: 'networking.k8s.io',
  shortNames: ['ing'],
  subresources: statusOf('networking.k8s.io', 'v1', 'Ingress'),
  legacy: [
    {
      name: 'v1beta1',
      deprecationWarning: deprecated('networking.k8s.io/v1beta1'),
      ...legacyConversion('networking.k8s.io/v1beta1'),
    },
  ],
});

/** The oldest group of Ingress. */
export const extensionsIngresses = define<Ingress>({
  ...common,
  group: 'extensions',
  storageGroup: 'networking.k8s.io',
  storageVersion: 'v1',
  version: 'v1beta1',
  subresources: statusOf('extensions', 'v1beta1', 'Ingress'),
  deprecationWarning: deprecated('extensions/v1beta1'),
  conversion: legacyConversion('extensions/v1beta1'),
});

/** Rules without a host count towards the limit of three but are not shown. */
function formatHosts(rules: IngressRule[]): string {
  const hosts = rules.map((rule) => rule.host ?? '').filter((host) => host !== '');
  if (hosts.length === 0) return '*';
  const shown = hosts.slice(0, 3);
  const third = rules.findIndex((rule) => rule.host === shown[2]);
  const more = shown.length === 3 && rules.length > third + 1;
  return more ? `${shown.join(',')} + ${rules.length - 3} more...` : shown.join(',');
}
