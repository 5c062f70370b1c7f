import type { CertificateTable } from './certificate-table.ts';
import type { IngressFacts, TlsEntry } from './facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';
import { isFor, type TlsSecret } from './tls-secret.ts';

const WEEK_MS = 7 * 24 * 3_600_000;

/** Problems of the certificates that an Ingress names. */
export const certificateProblems = (
  { tls }: IngressFacts,
  certificates: CertificateTable,
  now: number,
): IngressProblem[] => tls.flatMap((entry) => problemsOfEntry(entry, certificates, now));

function problemsOfEntry(entry: TlsEntry, certificates: CertificateTable, now: number): IngressProblem[] {
  const state = certificates.secret(entry.secret);
  if (state === undefined) {
    const message = `Secret ${entry.secret} not found.`;
    return [ingressProblem('SecretNotFound', entry.field, message)];
  }
  const problems: IngressProblem[] = [];
  if (state.wrong !== undefined) {
    const message = `Secret ${entry.secret} is invalid: ${state.wrong}.${state.good ? ' Its previous certificate is still used.' : ''}`;
    problems.push(ingressProblem('InvalidCertificate', entry.field, message));
  }
  if (state.good === undefined) return problems;
  return [
    ...problems,
    ...expiry(entry, state.good, now),
    ...otherHosts(entry, state.good),
    ...conflicts(entry, certificates),
  ];
}

/**
 * Warns a week before the end, or in the last third of a short-lived certificate. Automatic renewal happens earlier.
 */
function expiry(
  { field, secret }: TlsEntry,
  { notBefore, notAfter }: TlsSecret,
  now: number,
): IngressProblem[] {
  const end = new Date(notAfter).toISOString();
  if (now > notAfter) {
    return [
      ingressProblem('CertificateExpired', field, `The certificate in Secret ${secret} expired at ${end}.`),
    ];
  }
  if (now <= notAfter - Math.min(WEEK_MS, (notAfter - notBefore) / 3)) return [];
  return [
    ingressProblem('CertificateExpiresSoon', field, `The certificate in Secret ${secret} expires at ${end}.`),
  ];
}

function otherHosts({ field, secret, hosts }: TlsEntry, good: TlsSecret): IngressProblem[] {
  const others = hosts.filter((host) => !isFor(good, host));
  if (others.length === 0) return [];
  const names = good.names.size === 0 ? 'no DNS name' : [...good.names].join(', ');
  const message = `The certificate in Secret ${secret} is valid for ${names}. Clients of ${others.join(', ')} will reject it.`;
  return [ingressProblem('CertificateForOtherHosts', field, message)];
}

/** A host of another namespace has already been reported as HostConflict. */
function conflicts({ field, secret, hosts }: TlsEntry, certificates: CertificateTable): IngressProblem[] {
  const [namespace] = secret.split('/');
  return hosts.flatMap((host) => {
    const served = certificates.servedFor(host);
    if (served === undefined || served.secret === secret || !served.secret.startsWith(`${namespace}/`))
      return [];
    const message = `Clients of ${host} get the certificate of Secret ${served.secret}, which an older Ingress or an earlier entry names.`;
    return [ingressProblem('CertificateConflict', field, message)];
  });
}
