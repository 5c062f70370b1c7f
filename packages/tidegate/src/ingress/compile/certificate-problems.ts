import type { CertificateTable } from './certificate-table.ts';
import type { IngressFacts, TlsEntry } from './ingress-facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';
import { isFor, type TlsSecret } from './tls-secret.ts';

const WEEK_MS = 7 * 24 * 3_600_000;

/** What is to be said about the certificates that an Ingress names. */
export const certificateProblems = (
  { tls }: IngressFacts,
  certificates: CertificateTable,
  now: number,
): IngressProblem[] => tls.flatMap((entry) => problemsOfEntry(entry, certificates, now));

function problemsOfEntry(entry: TlsEntry, certificates: CertificateTable, now: number): IngressProblem[] {
  const state = certificates.secret(entry.secret);
  if (state === undefined) {
    const message = `There is no Secret ${entry.secret}.`;
    return [ingressProblem('SecretNotFound', entry.field, message)];
  }
  const problems: IngressProblem[] = [];
  if (state.wrong !== undefined) {
    const message = `Secret ${entry.secret} can not be served: ${state.wrong}.${state.good ? ' What it had before is still in use.' : ''}`;
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

/** Certificates that live for days are renewed in their last third, those that live for months a week before the end. */
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
  const names = good.names.length === 0 ? 'no DNS name' : good.names.join(', ');
  const message = `The certificate in Secret ${secret} is for ${names}: clients that ask for ${others.join(', ')} will not take it.`;
  return [ingressProblem('CertificateForOtherHosts', field, message)];
}

/** Of a host that belongs to another namespace it has been told already. */
function conflicts({ field, secret, hosts }: TlsEntry, certificates: CertificateTable): IngressProblem[] {
  const [namespace] = secret.split('/');
  return hosts.flatMap((host) => {
    const served = certificates.servedFor(host);
    if (served === undefined || served.secret === secret || !served.secret.startsWith(`${namespace}/`))
      return [];
    const message = `${host} is shown the certificate of Secret ${served.secret}, which an older Ingress or entry names.`;
    return [ingressProblem('CertificateConflict', field, message)];
  });
}
