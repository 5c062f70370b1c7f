import type { HostName } from '../model.ts';
import { certificateProblems } from './certificate-problems.ts';
import type { CertificateTable } from './certificate-table.ts';
import type { HostTable } from './host-table.ts';
import type { IngressFacts } from './ingress-facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';
import type { UpstreamTable } from './upstream-table.ts';

/** What became of an Ingress. */
export interface Outcome {
  /** `namespace/name`. */
  readonly ingress: string;
  /** The hosts that it is served for, `` for all; sorted. */
  readonly hosts: readonly HostName[];
  /** How many routes and default backends of it are served. */
  readonly rules: number;
  readonly problems: readonly IngressProblem[];
}

interface Tables {
  readonly hosts: HostTable;
  readonly upstreams: UpstreamTable;
  readonly certificates: CertificateTable;
}

export function outcomeOf(ingress: IngressFacts, tables: Tables, now: number): Outcome {
  const hosts: HostName[] = [];
  const problems = [...ingress.problems];
  const troubles = new Map<string, IngressProblem>();
  let rules = 0;
  for (const host of [...ingress.claims.keys()].sort()) {
    const share = tables.hosts.shareOf(host, ingress.key);
    if (share === undefined) continue;
    rules += share.served.length;
    if (share.served.length > 0) hosts.push(host);
    problems.push(...share.problems);
    for (const { upstream, backendField: field } of share.served) {
      const trouble = tables.upstreams.troubleOf(upstream.id);
      // The default backend is served for several hosts, and told once.
      if (trouble !== undefined) troubles.set(field, ingressProblem(trouble.reason, field, trouble.message));
    }
  }
  problems.push(...troubles.values(), ...certificateProblems(ingress, tables.certificates, now));
  return { ingress: ingress.key, hosts, rules, problems };
}
