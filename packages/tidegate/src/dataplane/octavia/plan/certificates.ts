import { X509Certificate } from 'node:crypto';
import { wildcardOf } from '../../../ingress/match/index.ts';
import type { Certificate, HostName } from '../../../ingress/model.ts';
import type { FailedHost, RouterSnapshot } from '../../../ingress/provisioners/index.ts';
import type { ListenerCertificates } from './state.ts';

/** Names in the store contain the start of the fingerprint: a certificate with other content is another object. */
const FINGERPRINT_CHARACTERS = 32;

export const certificateName = (prefix: string, { fingerprint }: Certificate): string =>
  `${prefix}${fingerprint.slice(0, FINGERPRINT_CHARACTERS)}`;

/** The certificate that Tidegate creates itself, for clients whose server name has no certificate. */
export const ownCertificateName = (prefix: string): string => `${prefix}default`;

export function certificateNames(
  certificates: ReadonlyMap<HostName, Certificate>,
  prefix: string,
): ListenerCertificates {
  const ofClass = certificates.get('');
  const sni = new Set<string>();
  for (const each of certificates.values())
    if (each.host !== '' && each.certificate !== '') sni.add(certificateName(prefix, each));
  return {
    default:
      ofClass === undefined || ofClass.certificate === ''
        ? ownCertificateName(prefix)
        : certificateName(prefix, ofClass),
    sni: [...sni].sort(),
  };
}

/**
 * Octavia chooses a certificate by the names in it, not by the host that it was assigned to. Returns the hosts whose
 * clients may get another certificate than the Ingresses say.
 */
export function certificateProblems({
  hosts,
  certificates,
}: Pick<RouterSnapshot, 'hosts' | 'certificates'>): Map<HostName, FailedHost> {
  const byName = new Map<string, Set<string>>();
  for (const each of certificates.values()) {
    if (each.certificate === '' || each.host === '') continue;
    for (const name of namesIn(each)) {
      const known = byName.get(name) ?? new Set();
      byName.set(name, known.add(each.fingerprint));
    }
  }
  const problems = new Map<HostName, FailedHost>();
  for (const host of new Set([...hosts.keys(), ...certificates.keys()])) {
    if (host === '') continue;
    const wildcard = host.startsWith('*.') ? undefined : wildcardOf(host);
    const assigned =
      certificates.get(host) ?? (wildcard === undefined ? undefined : certificates.get(wildcard));
    const wanted = assigned?.certificate === '' ? undefined : assigned?.fingerprint;
    const offered = byName.get(host) ?? (wildcard === undefined ? undefined : byName.get(wildcard));
    if (offered === undefined || (offered.size === 1 && wanted !== undefined && offered.has(wanted)))
      continue;
    problems.set(host, {
      reason: 'CertificateAmbiguous',
      message:
        'Octavia chooses a certificate by the names in it, and another certificate of this load balancer also has this name. Use certificates without common names, or another class.',
    });
  }
  return problems;
}

/** The compiler has parsed the certificate before. One that cannot be parsed has no names. */
function namesIn({ certificate }: Certificate): string[] {
  try {
    const { subjectAltName = '' } = new X509Certificate(certificate);
    return subjectAltName
      .split(', ')
      .flatMap((entry) => (entry.startsWith('DNS:') ? [entry.slice(4).toLowerCase()] : []));
  } catch {
    return [];
  }
}
