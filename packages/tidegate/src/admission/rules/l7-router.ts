import { isIP } from 'node:net';
import type { Cache, IngressClass } from '@tidegate/kube';
import { L7_ROUTERS, type L7RouterSpec } from '../../api/index.ts';
import { writtenHost } from '../../ingress/match/index.ts';
import type { AdmissionResult, FieldProblem } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { changedSpec } from './changed-spec.ts';

/** A router can have thousands of hosts. The first problems are enough to correct the mistake. */
const MAX_PROBLEMS = 10;

export const l7RouterRule = (classes: Pick<Cache<IngressClass>, 'get'>): AdmissionRule => ({
  group: L7_ROUTERS.group,
  versions: [L7_ROUTERS.version],
  resource: L7_ROUTERS.resource,
  scope: 'Cluster',
  operations: ['CREATE', 'UPDATE'],
  // Routers ignore invalid hosts and addresses, so an invalid object does no harm.
  failurePolicy: 'Ignore',
  evaluate(request): AdmissionResult {
    const spec = changedSpec<L7RouterSpec>(request);
    if (spec === undefined) return {};
    const { ingressClassName, sharedWith = [] } = spec;
    return {
      problems: [...hostProblems(spec), ...addressProblems(spec)].slice(0, MAX_PROBLEMS),
      warnings: [ingressClassName, ...sharedWith]
        .filter((name) => classes.get(name) === undefined)
        .map((name) => `spec: IngressClass ${JSON.stringify(name)} not found`),
    };
  },
});

function hostProblems({ hosts = [], leaving = [] }: L7RouterSpec): FieldProblem[] {
  const known = new Set(hosts);
  return [
    ...hosts.flatMap((host, index) => {
      if (writtenHost(host) === host) return [];
      const message = `${JSON.stringify(host)} is not a valid host: write it in lower case, for example shop.example.com or *.example.com`;
      return [{ path: `spec.hosts[${index}]`, message }];
    }),
    ...leaving.flatMap((host, index) => {
      if (known.has(host)) return [];
      const message = `${JSON.stringify(host)} must also be listed in spec.hosts`;
      return [{ path: `spec.leaving[${index}]`, message }];
    }),
  ];
}

const addressProblems = ({ workload }: L7RouterSpec): FieldProblem[] =>
  (workload?.addresses ?? []).flatMap((address, index) => {
    if (isIP(address) !== 0) return [];
    const message = `${JSON.stringify(address)} is not a valid IP address: write one, for example 203.0.113.7`;
    return [{ path: `spec.workload.addresses[${index}]`, message }];
  });
