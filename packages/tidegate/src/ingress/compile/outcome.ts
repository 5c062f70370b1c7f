import type { HostName } from '../model.ts';
import { certificateProblems } from './certificate-problems.ts';
import type { CertificateTable } from './certificate-table.ts';
import type { CredentialTable } from './credential-table.ts';
import type { IngressFacts } from './facts.ts';
import type { HostTable } from './host-table.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';
import type { UpstreamTable } from './upstream-table.ts';

/** Result of compiling one Ingress. Becomes its status and its events. */
export interface Outcome {
  /** `namespace/name`. */
  readonly ingress: string;
  /** The hosts that the Ingress is served for, sorted. The empty name means all hosts. */
  readonly hosts: readonly HostName[];
  /** Number of its routes and default backends that are served. */
  readonly rules: number;
  readonly problems: readonly IngressProblem[];
}

interface Tables {
  readonly hosts: HostTable;
  readonly upstreams: UpstreamTable;
  readonly certificates: CertificateTable;
  readonly credentials: CredentialTable;
}

export function outcomeOf(ingress: IngressFacts, tables: Tables, now: number): Outcome {
  const hosts: HostName[] = [];
  const problems = [...ingress.problems];
  const troubles = new Map<string, IngressProblem>();
  let rules = 0;
  const named = [...ingress.claims].filter(([, { isLeftOut }]) => !isLeftOut).map(([host]) => host);
  for (const host of named.sort()) {
    const share = tables.hosts.shareOf(host, ingress.key);
    if (share === undefined) continue;
    rules += share.served.length;
    if (share.served.length > 0) hosts.push(host);
    problems.push(...share.problems);
    for (const { upstream, backendField: field } of share.served) {
      const trouble = tables.upstreams.troubleOf(upstream.id);
      // Keyed by field: a default backend applies to several hosts but is reported once.
      if (trouble !== undefined) troubles.set(field, ingressProblem(trouble.reason, field, trouble.message));
    }
  }
  problems.push(...troubles.values(), ...certificateProblems(ingress, tables.certificates, now));
  problems.push(...tables.credentials.problemsOf(ingress));
  return { ingress: ingress.key, hosts, rules, problems };
}
