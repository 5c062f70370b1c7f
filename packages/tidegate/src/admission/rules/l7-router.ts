import { isIP } from 'node:net';
import type { Cache, IngressClass } from '@tidegate/kube';
import { L7_ROUTERS, type L7RouterSpec } from '../../api/index.ts';
import { writtenHost } from '../../ingress/match/index.ts';
import type { Problem, Verdict } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { specToJudge } from './spec-to-judge.ts';

/** Wrong hosts may be thousands: who has read the first few knows enough. */
const MOST_PROBLEMS = 10;

export const l7RouterRule = (classes: Pick<Cache<IngressClass>, 'get'>): AdmissionRule => ({
  group: L7_ROUTERS.group,
  versions: [L7_ROUTERS.version],
  resource: L7_ROUTERS.resource,
  scope: 'Cluster',
  operations: ['CREATE', 'UPDATE'],
  // What is wrong here is never served, and does no harm.
  failurePolicy: 'Ignore',
  judge(request): Verdict {
    const spec = specToJudge<L7RouterSpec>(request);
    if (spec === undefined) return {};
    const { ingressClassName, sharedWith = [] } = spec;
    return {
      problems: [...hostProblems(spec), ...addressProblems(spec)].slice(0, MOST_PROBLEMS),
      warnings: [ingressClassName, ...sharedWith]
        .filter((name) => classes.get(name) === undefined)
        .map((name) => `spec: there is no IngressClass ${JSON.stringify(name)} yet`),
    };
  },
});

function hostProblems({ hosts = [], leaving = [] }: L7RouterSpec): Problem[] {
  const known = new Set(hosts);
  return [
    ...hosts.flatMap((host, index) => {
      if (writtenHost(host) === host) return [];
      const message = `${JSON.stringify(host)} is no host as routers know it: write it in lower case, as shop.example.com or *.example.com`;
      return [{ path: `spec.hosts[${index}]`, message }];
    }),
    ...leaving.flatMap((host, index) => {
      if (known.has(host)) return [];
      const message = `${JSON.stringify(host)} is not among the hosts: what is not here can not leave`;
      return [{ path: `spec.leaving[${index}]`, message }];
    }),
  ];
}

const addressProblems = ({ workload }: L7RouterSpec): Problem[] =>
  (workload?.addresses ?? []).flatMap((address, index) => {
    if (isIP(address) !== 0) return [];
    const message = `${JSON.stringify(address)} is no IP address: write one, as 203.0.113.7`;
    return [{ path: `spec.workload.addresses[${index}]`, message }];
  });
